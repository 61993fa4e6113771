# expect: timeout | exceeded
# timeoutMs: 400
# The time goes on while an error is put into words.
class E(Exception):
    def __repr__(self):
        while True: pass
    __str__ = __repr__
raise E
