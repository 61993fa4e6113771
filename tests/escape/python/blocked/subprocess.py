# expect: blocked | Blocked import detected: subprocess
import subprocess
print("ESCAPED")
