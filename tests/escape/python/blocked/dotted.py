# expect: blocked | Blocked import detected: os
import os.path as p
print("ESCAPED", p)
