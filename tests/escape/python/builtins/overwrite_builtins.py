# expect: blocked | Blocked: open not allowed, programs have no files
__builtins__ = {"__build_class__": None}
def f():
    return open
try:
    print("ESCAPED", f()("/etc/passwd").read())
except NameError:
    pass
