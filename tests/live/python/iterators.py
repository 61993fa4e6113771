class I:
    def __init__(s): s.n = 0
    def __iter__(s): return s
    def __next__(s):
        s.n += 1
        if s.n > 3: raise StopIteration
        return s.n
print(list(I()), sum(I()), dict(zip("abc", I())), any(x > 2 for x in I()))
