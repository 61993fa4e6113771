# expect: timeout | 300ms
# timeoutMs: 300
while True: pass
