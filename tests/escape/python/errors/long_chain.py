# expect: ValueError | ValueError: 199999
# timeoutMs: 2000
e = None
for i in range(200000):
    n = ValueError(i)
    n.__cause__ = e
    e = n
raise e
