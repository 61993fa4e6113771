# expect: E | E: x
# timeoutMs: 400
class Text(str):
    def __str__(self):
        while True: pass
    __format__ = __repr__ = __str__
class E(Exception):
    def __str__(self): return Text("x")
raise E
