# expect: RecursionError | RecursionError: maximum recursion depth exceeded
class A:
    def __getattr__(self, n): return getattr(self, n)
A().x
