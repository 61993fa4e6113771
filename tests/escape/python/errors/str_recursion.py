# expect: E | E: <no text>
class E(Exception):
    def __str__(self): return str(self)
raise E
