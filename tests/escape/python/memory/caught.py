# expect: ok | alive
try:
    x = "a" * 10**9
except MemoryError:
    print("alive")
