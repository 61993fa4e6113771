# expect: AttributeError | AttributeError: 'code' object has no attribute 'replace'
def f(): pass
c = type(f).__dict__["__co" + "de__"].__get__(f)
print("ESCAPED", c.replace(co_names=("x",)))
