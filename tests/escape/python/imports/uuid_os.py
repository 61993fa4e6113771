# expect: AttributeError | AttributeError: module '<uuid>' has no attribute 'os'
# imports: data
import uuid
print("ESCAPED", uuid.os)
