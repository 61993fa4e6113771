# imports: data
from dataclasses import *
@dataclass(frozen=True)
class A:
    x: int
    y: "str" = "d"
    def f(self): return replace(self, x=9)
try:
    A(1).x = 2
except FrozenInstanceError:
    print("frozen")
print(A(1).f(), [f.name for f in fields(A)], astuple(A(1)), hash(A(1)) == hash(A(1)))
