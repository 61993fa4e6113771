# expect: blocked | Blocked: attribute __closure__ not allowed
def f(): pass
x = f.__closure__
print("ESCAPED", x)
