# expect: blocked | Blocked: eval/exec/compile not allowed
def g(): yield
x = g()
d = type(x).__dict__["gi_" + "frame"].__get__(x)
b = type(d).__dict__["f_" + "builtins"].__get__(d)
print("ESCAPED" if "real" in b else b["ev" + "al"]("1"))
