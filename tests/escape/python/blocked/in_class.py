# expect: blocked | Blocked import detected: os
class A:
    import os
print("ESCAPED")
