# expect: AttributeError | AttributeError: _convert_
# imports: data
# Made for the socket module: the globals of any module become members.
import enum
X = enum.Enum._convert_("X", "posix", lambda name: name == "system")
print("ESCAPED", X.system.value)
