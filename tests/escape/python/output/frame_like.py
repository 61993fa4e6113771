# expect: ok | R
print("R\0\0\0" * 1000)
