# expect: blocked | Blocked: eval/exec/compile not allowed
# A name of the program's own shadows the builtin only where it is defined.
def f():
    return globals()["__built" + "ins__"]["ev" + "al"]("'ESC' + 'APED'")
print(f())
