# expect: blocked | Blocked import detected: dbm
import dbm
print("ESCAPED")
