# expect: blocked | Blocked import detected: builtins
import builtins
print("ESCAPED")
