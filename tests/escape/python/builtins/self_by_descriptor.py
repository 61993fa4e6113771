# expect: contained
d = type(len).__dict__["__se" + "lf__"]
print("ESCAPED", d.__get__(len))
