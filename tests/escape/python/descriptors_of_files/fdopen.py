# expect: blocked | Blocked import detected: os
from os import fdopen
fdopen(3, "wb").write(b"ESCAPED")
