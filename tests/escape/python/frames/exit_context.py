# expect: AttributeError | AttributeError: Blocked: attribute f_back not allowed
class C:
    def __enter__(self): return self
    def __exit__(self, t, v, tb):
        f = type(tb).__dict__["tb_" + "frame"].__get__(tb)
        g = type(f).__dict__["f_" + "back"]
        print("ESCAPED", g.__get__(f))
with C():
    1/0
