# expect: ok
x = None
for i in range(200000): x = (x,)
del x
print("ok")
