# expect: blocked | Blocked: eval/exec/compile
compile("1", "x", "exec")
print("ESCAPED")
