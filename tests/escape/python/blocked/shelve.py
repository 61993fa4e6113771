# expect: blocked | Blocked import detected: shelve
import shelve
print("ESCAPED")
