# expect: blocked | eval/exec/compile
@exec
@(lambda f: "print('ESC' + 'APED')")
class A: pass
