# expect: blocked | Blocked import detected: mmap
import mmap
print("ESCAPED", mmap.mmap(3, 0))
