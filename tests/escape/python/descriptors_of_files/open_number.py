# expect: blocked | Blocked: open not allowed, programs have no files
# Descriptor 3 is the way of the answer: not to be had by its number.
f = open(3, "wb", closefd=False)
print("ESCAPED", f.fileno())
