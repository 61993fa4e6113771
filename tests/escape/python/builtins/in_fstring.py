# expect: blocked | eval/exec/compile
print(f"{eval('1')} ESCAPED")
