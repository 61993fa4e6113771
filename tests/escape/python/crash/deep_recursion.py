# expect: RecursionError
def f(): return f()
f()
