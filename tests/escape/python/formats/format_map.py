# expect: AttributeError | AttributeError: 'method-wrapper' object has no attribute '__globals__'
class A: pass
print("{a.__class__.__mro__[1].__subclasses__}".format_map({"a": A()})[:10])
s = "{0.__init__.__globals__}".format(A())
print("ESCAPED" if "posix" in s else "no")
