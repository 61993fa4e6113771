# expect: NameError | NameError: name 'modules' is not defined
# A forward reference may say in which module's globals it is to be evaluated.
import typing
F = type(typing.List["x"].__args__[0])
print("ESCAPED", F("modules", module="sys")._evaluate({}, {}, recursive_guard=frozenset()))
