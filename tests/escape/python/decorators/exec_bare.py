# expect: blocked | Blocked: eval/exec/compile not allowed
@exec
@input
class X: pass
print("ESCAPED")
