# expect: blocked | Blocked: attribute __code__ not allowed
def f(): return 1
print("ESCAPED", getattr(f, "__co" + "de__"))
