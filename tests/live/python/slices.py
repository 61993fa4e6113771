x = list(range(10))
print(x[2:8:2], x[::-1], x[-3:])
x[1:3] = [9]
del x[0]
print(x)
