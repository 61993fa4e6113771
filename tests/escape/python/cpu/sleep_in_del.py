# expect: timeout | 300ms
# imports: data
# timeoutMs: 300
import time
class A:
    def __del__(self): time.sleep(100)
a = A()
del a
print("ESCAPED")
