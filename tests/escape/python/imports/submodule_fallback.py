# expect: blocked | private name
# `from m import x` falls back to sys.modules["m.x"]: the proxy goes by another name.
from re import _compiler_ as x, _parser
print("ESCAPED", x)
