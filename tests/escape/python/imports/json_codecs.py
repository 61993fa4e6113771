# expect: AttributeError
import json
print("ESCAPED", json.codecs)
