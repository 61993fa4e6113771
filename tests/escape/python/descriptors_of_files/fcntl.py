# expect: blocked | Blocked import detected: fcntl
import fcntl
fcntl.fcntl(3, fcntl.F_DUPFD, 0)
print("ESCAPED")
