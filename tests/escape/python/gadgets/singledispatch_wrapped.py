# expect: ok | no
# imports: data
import functools, json
@functools.singledispatch
def f(x): pass
class O:
    __annotations__ = {"x": "json_module"}
    __wrapped__ = json.dumps
    def __call__(self, x): pass
try:
    f.register(O())
    print("ESCAPED")
except Exception:
    print("no")
