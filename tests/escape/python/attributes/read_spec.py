# expect: blocked | Blocked: attribute __spec__ not allowed
def f(): pass
x = f.__spec__
print("ESCAPED", x)
