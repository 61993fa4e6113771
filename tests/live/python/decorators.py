def twice(f):
    def g(*a):
        return f(*a) * 2
    return g
@twice
def h(x): return x
print(h(4))
