# expect: ok | no
from typing import *
try:
    print("ESCAPED", sys)
except NameError:
    print("no")
