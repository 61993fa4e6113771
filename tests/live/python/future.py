from __future__ import annotations
def f(x: Nope) -> Nada: return x
print(f(1), f.__annotations__)
