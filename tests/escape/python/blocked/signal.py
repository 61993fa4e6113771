# expect: blocked | Blocked import detected: signal
import signal
print("ESCAPED")
