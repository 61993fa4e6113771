# expect: contained
import json
print(json.loads("{}", object_hook=lambda d: d), json.dumps({1}, default=str))
