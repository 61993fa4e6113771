# expect: blocked | Blocked: attribute gi_code not allowed
g = (x for x in ())
print("ESCAPED", type(g.gi_code))
