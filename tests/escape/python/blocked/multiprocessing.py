# expect: blocked | Blocked import detected: multiprocessing
import multiprocessing
print("ESCAPED")
