# expect: blocked | Blocked: attribute __globals__ not allowed
def f(): pass
x = f.__globals__
print("ESCAPED", x)
