# expect: ok | no
class A:
    def f(self): return super().__init__
print("ESCAPED" if hasattr(A().f(), "x") else "no")
