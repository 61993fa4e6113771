# expect: blocked | Blocked import detected: sys
import sys
sys.set_asyncgen_hooks(firstiter=print)
print("ESCAPED")
