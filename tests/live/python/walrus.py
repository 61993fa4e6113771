if (n := len("abc")) > 2: print(n)
print([y for x in range(5) if (y := x * 2) > 4])
