# expect: blocked | Blocked: attribute __code__ not allowed
def f(): pass
x = f.__code__
print("ESCAPED", x)
