# expect: AttributeError | AttributeError: module '<re>' has no attribute 'enum'
import re
print("ESCAPED", re.enum.sys)
