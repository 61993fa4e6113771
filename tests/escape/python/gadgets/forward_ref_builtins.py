# expect: ok | same
import typing
f = typing.List["lambda: (getattr, vars, globals())"].__args__[0]
g, v, names = f._evaluate({}, {}, recursive_guard=frozenset())()
print("same" if g is getattr and v is vars and list(names) == ["__built" + "ins__"] else "ESCAPED")
