def g(n):
    while n:
        got = yield n
        n -= 1
    return "end"
def h():
    r = yield from g(3)
    print(r)
print(list(h()))
