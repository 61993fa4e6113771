# expect: ok | 7
class M(type):
    @classmethod
    def __prepare__(m, n, b): return {"__builtins__": {}}
    def __call__(cls, *a): return 7
class A(metaclass=M): pass
print(A())
