# expect: blocked | Blocked: attribute gi_frame not allowed
def g():
    yield 1
x = g()
print("ESCAPED", x.gi_frame.f_back)
