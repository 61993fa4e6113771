# expect: blocked | Blocked import detected: marshal
import marshal
exec(marshal.loads(b"c"))
print("ESCAPED")
