# expect: blocked | Blocked: attribute mro not allowed
def f(): pass
x = f.mro
print("ESCAPED", x)
