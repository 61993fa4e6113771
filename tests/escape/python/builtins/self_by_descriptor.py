# expect: AttributeError | AttributeError: Blocked: attribute __self__ not allowed
d = type(len).__dict__["__se" + "lf__"]
print("ESCAPED", d.__get__(len))
