# expect: blocked | Blocked: attribute __loader__ not allowed
def f(): pass
x = f.__loader__
print("ESCAPED", x)
