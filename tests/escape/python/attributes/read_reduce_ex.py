# expect: blocked | Blocked: attribute __reduce_ex__ not allowed
def f(): pass
x = f.__reduce_ex__
print("ESCAPED", x)
