# expect: blocked | Blocked import detected: urllib
import urllib
print("ESCAPED")
