# expect: contained
x = []
for i in range(200000): x = [x]
repr(x)
