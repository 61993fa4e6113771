# expect: blocked | Blocked: attribute __base__ not allowed
def f(): pass
x = f.__base__
print("ESCAPED", x)
