# expect: blocked | Blocked import detected: posix
import posix
print("ESCAPED")
