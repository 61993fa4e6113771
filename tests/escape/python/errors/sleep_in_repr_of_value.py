# expect: timeout | exceeded
# imports: data
# timeoutMs: 400
import time
class V:
    def __repr__(self): time.sleep(30); return "ESCAPED"
V()
