# expect: memory_limit | 50MB
x = [0]
while True:
    x = x + x
