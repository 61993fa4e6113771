# expect: blocked | Blocked import detected: selectors
import selectors
print("ESCAPED", selectors.DefaultSelector().register(3, 1))
