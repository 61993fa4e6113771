# expect: blocked | Blocked import detected: requests
import requests
print("ESCAPED")
