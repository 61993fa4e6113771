# expect: AttributeError | AttributeError: Blocked: attribute f_back not allowed
class X(Exception): pass
try:
    raise X
except X as e:
    t = BaseException.__dict__["__trace" + "back__"].__get__(e)
    f = type(t).__dict__["tb_" + "frame"].__get__(t)
    b = type(f).__dict__["f_" + "back"].__get__(f)
    print("ESCAPED", b)
