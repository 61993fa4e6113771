# expect: contained
x = 1 << 10**10
print("ESCAPED", x > 0)
