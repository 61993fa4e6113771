# expect: AttributeError | AttributeError: Blocked: attribute __globals__ not allowed
import json
g = type.__dict__["__getattri" + "bute__"]
f = object.__dict__["__getattri" + "bute__"](json.dumps, "__glo" + "bals__")
print("ESCAPED", f)
