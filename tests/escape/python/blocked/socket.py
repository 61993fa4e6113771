# expect: blocked | Blocked import detected: socket
import socket
print("ESCAPED")
