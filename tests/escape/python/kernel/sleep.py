# expect: timeout | Execution timeout exceeded 300ms
# imports: data
# timeoutMs: 300
import time
time.sleep(10)
print("ESCAPED")
