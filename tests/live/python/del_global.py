x = 1
del x
try:
    x
except NameError as e:
    print(e)
def f():
    global y
    y = 5
f()
print(y)
