# expect: blocked | attribute __globals__
import json
print("ESCAPED", json.dumps.__ｇlobals__)
