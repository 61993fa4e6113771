# expect: blocked | Blocked import detected: ftplib
import ftplib
print("ESCAPED")
