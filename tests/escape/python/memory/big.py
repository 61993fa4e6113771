# expect: memory_limit | Memory limit exceeded 50MB
x = []
while True:
    x.append("x" * 1000000)
