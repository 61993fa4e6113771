# expect: blocked | Blocked import detected: io
import io
print("ESCAPED")
