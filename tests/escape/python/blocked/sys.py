# expect: blocked | Blocked import detected: sys
import sys
print("ESCAPED")
