# expect: blocked | Blocked import detected: importlib
import importlib
print("ESCAPED")
