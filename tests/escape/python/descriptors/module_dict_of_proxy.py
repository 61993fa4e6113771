# expect: ok | no
# A proxy's own dict has no way to the module behind it.
import json
d = vars(json)
print("ESCAPED" if any(type(v) is type(json) and hasattr(v, "__file__") for v in d.values()) else "no")
