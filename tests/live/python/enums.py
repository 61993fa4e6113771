# imports: data
from enum import *
class C(IntFlag):
    A = auto()
    B = auto()
class S(str, Enum):
    X = "x"
print(C.A | C.B, S.X == "x", list(C), S("x").name, Enum("E", "P Q").Q.value)
