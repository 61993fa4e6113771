# expect: blocked | Blocked import detected: http
import http
print("ESCAPED")
