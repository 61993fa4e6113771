# expect: blocked | Blocked: __import__ not allowed
@__import__
@lambda _: "os"
class X: pass
print("ESCAPED", X)
