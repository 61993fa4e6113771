class A:
    def __await__(self):
        yield 1
        return 2
async def f():
    async for x in g():
        print(x)
    return await A()
async def g():
    for i in range(2): yield i
c = f()
print(c.send(None))
try:
    c.send(None)
except StopIteration as e:
    print(e.value)
