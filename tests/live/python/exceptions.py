class E(ValueError):
    pass
try:
    raise E("x") from KeyError("y")
except ValueError as e:
    print(type(e).__name__, e, repr(e.__cause__))
else:
    print("no")
finally:
    print("f")
