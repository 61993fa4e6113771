# expect: blocked | Blocked import detected: marshal
import marshal
print("ESCAPED")
