# imports: data
import types
@types.coroutine
def switch(value):
    return (yield value)
async def task(name):
    return [name, await switch(name + "1"), await switch(name + "2")]
def run(*tasks):
    waiting = [(t, None) for t in tasks]
    while waiting:
        t, value = waiting.pop(0)
        try:
            waiting.append((t, t.send(value)))
        except StopIteration as e:
            print(e.value)
run(task("a"), task("b"))
