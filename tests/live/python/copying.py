# imports: data
import copy
class A:
    def __init__(s): s.x = [1]
a = A()
b, c = copy.copy(a), copy.deepcopy(a)
a.x.append(2)
print(b.x, c.x)
