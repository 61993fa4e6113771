class A:
    __slots__ = ("x",)
a = A()
a.x = 1
try:
    a.y = 2
except AttributeError as e:
    print("no y", a.x)
