# expect: blocked | Blocked: attribute __subclasses__ not allowed
for c in object.__subclasses__():
    print("ESCAPED", c)
