# expect: blocked | Blocked: attribute tb_frame not allowed
def f(): pass
x = f.tb_frame
print("ESCAPED", x)
