a, *b, c = range(5)
print(a, b, c)
def f(x, /, y, *, z=1, **k): return x, y, z, k
print(f(1, 2, z=3, w=4), *[1, 2])
