# expect: blocked | Blocked: attribute ag_frame not allowed
def f(): pass
x = f.ag_frame
print("ESCAPED", x)
