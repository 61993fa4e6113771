# expect: ok | no
# imports: data
# It writes members into the globals of the module that the class claims to be of: exec in dataclasses, say, to be handed any globals.
import enum, dataclasses
got = []
class E(enum.Enum):
    exec = 1
    def __call__(self, text, names, own): got.append(names)
E.__module__ = "dataclasses"
try:
    enum.global_enum(E)
except AttributeError:
    pass
class D:
    __module__ = "sys"
    x: int
try:
    dataclasses.dataclass(D)
except Exception:
    pass
print("ESCAPED" if got else "no")
