# expect: memory_limit
d = {}
i = 0
while True:
    d[i] = str(i) * 50
    i += 1
