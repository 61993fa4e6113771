# expect: blocked | Blocked: attribute gi_frame not allowed
def g():
    yield g_.gi_frame.f_back
g_ = g()
print("ESCAPED", next(g_))
