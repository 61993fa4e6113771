# expect: blocked | attribute __globals__
import json
print(f"{json.dumps.__globals__} ESCAPED")
