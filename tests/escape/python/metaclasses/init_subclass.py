# expect: ok | sub
class A:
    def __init_subclass__(cls): print("sub")
class B(A): pass
print([c.__name__ for c in type.__dict__["__sub" + "classes__"](A)])
