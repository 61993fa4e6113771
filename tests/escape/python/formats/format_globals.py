# expect: AttributeError | AttributeError: Blocked: attribute __globals__ not allowed
import json
s = "{0.__globals__}".format(json.dumps)
print("ESCAPED" if "codecs" in s else "nothing")
