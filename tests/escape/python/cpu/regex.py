# expect: timeout
# timeoutMs: 300
import re
re.match("(a+)+$", "a" * 40 + "b")
