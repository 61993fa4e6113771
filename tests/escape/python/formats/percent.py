# expect: contained
print("%(x)s" % {"x": 1}, "%c" % 65)
