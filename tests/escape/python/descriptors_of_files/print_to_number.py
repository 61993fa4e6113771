# expect: AttributeError | AttributeError: 'int' object has no attribute 'write'
print("forged", file=3)
print("ESCAPED")
