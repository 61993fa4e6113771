# expect: AttributeError | AttributeError: module '<types>' has no attribute 'FunctionT
# imports: data
import types
f = lambda: 0
print("ESCAPED", types.FunctionType(f, {}))
