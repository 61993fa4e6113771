# expect: AttributeError | AttributeError: attribute '__code__' of 'function' objects is not writable
def f(): pass
def g(): return "ESCAPED"
d = type(f).__dict__["__co" + "de__"]
d.__set__(f, d.__get__(g))
print(f())
