# expect: timeout
# timeoutMs: 300
class A:
    def __del__(self):
        while True: pass
x = A()
del x
