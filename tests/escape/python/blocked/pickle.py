# expect: blocked | Blocked import detected: pickle
import pickle
print("ESCAPED")
