# expect: blocked | Blocked import detected: os
# line: 4

import os
print("ESCAPED")
