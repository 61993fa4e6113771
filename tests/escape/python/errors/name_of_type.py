# expect: E | E
# timeoutMs: 400
class Meta(type):
    def __getattribute__(cls, name):
        while True: pass
class E(Exception, metaclass=Meta):
    pass
raise E()
