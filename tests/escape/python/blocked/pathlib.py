# expect: blocked | Blocked import detected: pathlib
import pathlib
print("ESCAPED")
