# expect: blocked | Blocked: attribute f_globals not allowed
def f(): pass
x = f.f_globals
print("ESCAPED", x)
