# expect: ok | no
# Exceptions carry the object that lacked something: a real module would be one.
import json, re, typing
found = []
for f in (lambda: json.nothing, lambda: re.nothing, lambda: typing.nothing):
    try:
        f()
    except AttributeError as e:
        found += [e.obj] if hasattr(e.obj, "sys") or hasattr(e.obj, "enum") or hasattr(e.obj, "codecs") else []
print("ESCAPED" if found else "no")
