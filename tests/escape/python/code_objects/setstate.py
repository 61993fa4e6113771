# expect: AttributeError | AttributeError: attribute '__code__' of 'function' objects i
def f(): return 1
f.__setattr__("__code__", f)
print("ESCAPED")
