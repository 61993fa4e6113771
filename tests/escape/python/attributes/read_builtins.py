# expect: blocked | Blocked: attribute __builtins__ not allowed
def f(): pass
x = f.__builtins__
print("ESCAPED", x)
