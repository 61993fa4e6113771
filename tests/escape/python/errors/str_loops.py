# expect: timeout
# timeoutMs: 300
class E(Exception):
    def __str__(self):
        while True: pass
raise E
