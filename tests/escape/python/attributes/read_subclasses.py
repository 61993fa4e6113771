# expect: blocked | Blocked: attribute __subclasses__ not allowed
def f(): pass
x = f.__subclasses__
print("ESCAPED", x)
