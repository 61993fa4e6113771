# imports: data
import functools
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), functools.reduce(lambda a, b: a * b, [1, 2, 3]), functools.partial(int, base=2)("101"))
class A:
    @functools.cached_property
    def x(self): return 5
print(A().x)
