# expect: RecursionError
class A:
    def __getattr__(self, n): return getattr(self, n)
A().x
