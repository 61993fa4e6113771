# expect: blocked | Blocked: eval/exec/compile not allowed
# line: 3
print(eval("'ESC' + 'APED'"))
