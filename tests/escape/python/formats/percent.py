# expect: ok | 1 A
print("%(x)s" % {"x": 1}, "%c" % 65)
