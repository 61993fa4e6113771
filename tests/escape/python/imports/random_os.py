# expect: AttributeError | AttributeError: module '<random>' has no attribute '_os'
# imports: data
import random
print("ESCAPED", random._os)
