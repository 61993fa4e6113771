# expect: blocked | Blocked: open
open("1", "x", "exec")
print("ESCAPED")
