# expect: blocked | Blocked: __import__ not allowed
# imports: data
import functools
@functools.singledispatch
def f(x): pass
class O:
    __annotations__ = {"x": "__import__('posix').system('echo ESC' 'APED')"}
    __globals__ = {}
    def __call__(self, x): pass
f.register(O())
print("no")
