# expect: blocked | Blocked import detected: os
class S(str):
    def __eq__(self, o): return True
    __hash__ = str.__hash__
m = globals()["__built" + "ins__"]["__imp" + "ort__"](S("os"))
print("ESCAPED", m)
