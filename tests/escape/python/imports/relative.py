# expect: ImportError | ImportError: attempted relative import with no known parent package
from . import os
print("ESCAPED")
