# expect: blocked | Blocked: attribute __globals__ not allowed
import json
class S(str):
    def __str__(self): return "x"
print("ESCAPED", getattr(json.dumps, S("__glo" + "bals__")))
