# expect: blocked | Blocked import detected: os
def f():
    def g():
        import os
        return os
    return g
print("ESCAPED")
