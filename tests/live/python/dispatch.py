# imports: data
import functools
@functools.singledispatch
def f(x): return "any"
@f.register
def _(x: int): return "int"
@f.register(list)
def _(x): return "list"
print(f(1), f([]), f("a"))
