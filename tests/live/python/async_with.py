class C:
    async def __aenter__(self): print("in"); return self
    async def __aexit__(self, *a): print("out")
async def f():
    async with C():
        return [x async for x in g()]
async def g(): yield 7
try:
    f().send(None)
except StopIteration as e:
    print(e.value)
