# expect: AttributeError
# imports: data
import uuid
print("ESCAPED", uuid.os)
