# expect: blocked | attribute __code__
def f(): pass
def g(): pass
setattr(f, "__co" + "de__", 1)
print("ESCAPED")
