# expect: blocked | Blocked import detected: gc
import gc
print("ESCAPED")
