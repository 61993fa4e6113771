# expect: ok
print("x" * 1000000)
