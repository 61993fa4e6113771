# expect: RecursionError | RecursionError: maximum recursion depth exceeded in comparison
a = []
b = []
for i in range(100000): a = [a]; b = [b]
print(a == b)
