# expect: blocked | eval/exec/compile
ｅｖａｌ("1")
print("ESCAPED")
