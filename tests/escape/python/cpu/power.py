# expect: timeout
# timeoutMs: 300
x = 7 ** (10 ** 8)
