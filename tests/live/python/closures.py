def c():
    n = 0
    def i():
        nonlocal n
        n += 1
        return n
    return i
x = c()
x()
print(x())
