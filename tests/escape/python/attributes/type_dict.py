# expect: AttributeError | AttributeError: Blocked: attribute __globals__ not allowed
# Around the analysis: the descriptor by its key. It answers for the program's own functions only.
import json
d = type(json.dumps).__dict__["__glo" + "bals__"]
g = d.__get__(json.dumps)
print("ESCAPED", list(g))
