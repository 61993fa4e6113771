# expect: AttributeError
# imports: data
import random
print("ESCAPED", random._os)
