# expect: blocked | eval/exec/compile
def f(x=eval): return x("1")
print("ESCAPED", f())
