# expect: RecursionError | RecursionError: maximum recursion depth exceeded
def f(): return f()
f()
