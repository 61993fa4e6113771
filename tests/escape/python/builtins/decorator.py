# expect: blocked | eval/exec/compile
@eval
def f(): pass
print("ESCAPED")
