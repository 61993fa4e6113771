# expect: contained
from . import os
print("ESCAPED")
