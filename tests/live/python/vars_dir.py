class A:
    x = 1
a = A()
a.y = 2
print(vars(a), getattr(a, "y"), hasattr(a, "z"), getattr(a, "z", 9), [n for n in dir(a) if not n.startswith("_")], a.__dict__, a.__class__.__name__, type(a) is A)
