# expect: blocked | Blocked: __import__ not allowed
f = lambda: __import__("os")
print("ESCAPED", f())
