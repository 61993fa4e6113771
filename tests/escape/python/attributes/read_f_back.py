# expect: blocked | Blocked: attribute f_back not allowed
def f(): pass
x = f.f_back
print("ESCAPED", x)
