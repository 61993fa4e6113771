# expect: blocked | attribute __self__
print("ESCAPED", getattr(print, "__se" + "lf__"))
