# expect: blocked | Blocked: eval/exec/compile
exec("1", "x", "exec")
print("ESCAPED")
