class M(type):
    def __new__(m, n, b, d, **k):
        d["added"] = k.get("v", 1)
        return super().__new__(m, n, b, d)
class A(metaclass=M, v=5): pass
print(A.added, type(A).__name__)
