# expect: blocked | Blocked import detected: inspect
import inspect
print("ESCAPED")
