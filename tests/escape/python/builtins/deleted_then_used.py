# expect: blocked | Blocked: eval/exec/compile not allowed
def eval(x): return x
del eval
print("ESCAPED", globals()["__built" + "ins__"]["ev" + "al"]("1"))
