class V:
    def __init__(s, x): s.x = x
    def __add__(s, o): return V(s.x + o.x)
    def __eq__(s, o): return s.x == o.x
    def __getitem__(s, i): return s.x[i]
    def __len__(s): return len(s.x)
    def __call__(s): return "called"
v = V("ab") + V("c")
print(v.x, v == V("abc"), v[1], len(v), v(), bool(V("")))
