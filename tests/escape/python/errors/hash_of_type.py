# expect: E | E
class M(type):
    def __getattribute__(s, n): raise RuntimeError
class E(Exception, metaclass=M): pass
raise E
