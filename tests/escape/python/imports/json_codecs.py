# expect: AttributeError | AttributeError: module '<json>' has no attribute 'codecs'
import json
print("ESCAPED", json.codecs)
