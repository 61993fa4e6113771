# expect: contained
print(list(map(globals()["__built" + "ins__"]["ev" + "al"], ["'ESC' + 'APED'"])))
