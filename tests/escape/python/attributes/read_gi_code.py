# expect: blocked | Blocked: attribute gi_code not allowed
def f(): pass
x = f.gi_code
print("ESCAPED", x)
