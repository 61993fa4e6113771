# expect: ok | 1
def f(): return 1
F = type(f)
c = F.__dict__["__co" + "de__"].__get__(f)
g = F(c, {"__builtins__": {}})
print(g())
