# expect: blocked | Blocked import detected: os
try:
    import os
    print("ESCAPED")
except ImportError:
    pass
