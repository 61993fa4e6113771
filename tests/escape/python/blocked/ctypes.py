# expect: blocked | Blocked import detected: ctypes
import ctypes
print("ESCAPED")
