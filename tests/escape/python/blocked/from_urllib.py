# expect: blocked | Blocked import detected: urllib
from urllib.request import urlopen
print("ESCAPED")
