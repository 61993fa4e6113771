# expect: RecursionError | RecursionError: maximum recursion depth exceeded while getting the repr of an object
x = []
for i in range(200000): x = [x]
repr(x)
