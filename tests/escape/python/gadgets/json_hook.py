# expect: ok | {} "{1}"
import json
print(json.loads("{}", object_hook=lambda d: d), json.dumps({1}, default=str))
