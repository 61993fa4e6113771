# expect: contained
from typing import *
try:
    print("ESCAPED", sys)
except NameError:
    print("no")
