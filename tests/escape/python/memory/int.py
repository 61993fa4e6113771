# expect: memory_limit | Memory limit exceeded 50MB
x = 1 << 10**10
print("ESCAPED", x > 0)
