# expect: ok | no
class L(list):
    def __iter__(self): print("x"); return iter(["os"])
m = globals()["__built" + "ins__"]["__imp" + "ort__"]("json", {}, {}, L(["os"]), 0)
print("ESCAPED" if hasattr(m, "os") else "no")
