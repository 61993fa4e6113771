print([x * y for x in range(3) for y in range(3) if x != y])
print({k: v for k, v in zip("abc", range(3))}, {x % 3 for x in range(10)})
print(sum(x for x in range(100)))
