# expect: ok
class A:
    def __repr__(self): return "x" * 10**9
A()
