# expect: AttributeError
import re
print("ESCAPED", re.enum.sys)
