# expect: ok | Blocked
# imports: data
import collections.abc
s = type.__dict__["__sub" + "classes__"](collections.abc.MutableMapping)
for c in s:
    if "_Environ" in str(c):
        try:
            e = c({}, str, str, str, str)
            e["X"] = "1"
            print("ESCAPED")
        except BaseException as x:
            print(type(x).__name__)
