# expect: ok | 0
s = type.__dict__["__sub" + "classes__"](object)
print("ESCAPED" if any("wrap_close" in str(c) or "Popen" in str(c) for c in s) else len(s))
