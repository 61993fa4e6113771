# expect: blocked | Blocked: attribute __getattribute__ not allowed
def f(): pass
x = f.__getattribute__
print("ESCAPED", x)
