# expect: blocked | Blocked: attribute cr_frame not allowed
def f(): pass
x = f.cr_frame
print("ESCAPED", x)
