# expect: blocked | attribute __globals__
def f(): pass
import json
print("ESCAPED", getattr(json.dumps, "__glo" + "bals__"))
