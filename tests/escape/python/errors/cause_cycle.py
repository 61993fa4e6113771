# expect: ValueError | ValueError: a
# A chain of causes that bites its tail.
a, b = ValueError("a"), ValueError("b")
a.__cause__, b.__cause__, a.__context__ = b, a, b
raise a
