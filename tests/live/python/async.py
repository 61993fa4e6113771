async def add(a, b):
    return a + b


async def main():
    return await add(1, 2)


try:
    main().send(None)
except StopIteration as stop:
    print(stop.value)
