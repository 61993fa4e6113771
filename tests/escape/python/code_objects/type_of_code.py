# expect: blocked | Blocked: attribute __code__ not allowed
def f(): pass
code = type(f.__code__)
print("ESCAPED", code(0, 0, 0, 0, 0, 0, b"", (), (), (), "", "", "", 0, b"", b""))
