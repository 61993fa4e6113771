# expect: X | X: x (a, line 1)
class X(SyntaxError):
    @property
    def lineno(self): return 10**30
raise X("x", ("a", 1, 1, "b"))
