# imports: data
import contextlib
@contextlib.contextmanager
def c():
    print("in")
    try:
        yield 1
    finally:
        print("out")
with c() as x, contextlib.suppress(ValueError):
    raise ValueError
with contextlib.ExitStack() as s:
    s.callback(print, "bye")
