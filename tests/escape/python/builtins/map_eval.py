# expect: blocked | Blocked: eval/exec/compile not allowed
print(list(map(globals()["__built" + "ins__"]["ev" + "al"], ["'ESC' + 'APED'"])))
