# expect: blocked | Blocked: attribute __bases__ not allowed
def f(): pass
x = f.__bases__
print("ESCAPED", x)
