class D:
    def __set_name__(s, o, n): s.n = n
    def __get__(s, i, t): return s.n if i is None else i.__dict__.get(s.n, 0)
    def __set__(s, i, v): i.__dict__[s.n] = v * 2
class A:
    x = D()
a = A()
a.x = 4
print(a.x, A.x)
