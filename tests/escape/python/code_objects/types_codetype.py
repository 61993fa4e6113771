# expect: AttributeError | AttributeError: module '<types>' has no attribute 'CodeType'
# imports: data
import types
print("ESCAPED", types.CodeType)
