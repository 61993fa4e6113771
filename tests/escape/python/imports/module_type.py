# expect: ok | no
import json
M = type(json)
m = M("os")
print("ESCAPED" if hasattr(m, "system") else "no")
