# expect: contained
import typing
class X:
    __module__ = "os"
    x: "system('echo ESC' 'APED')"
print(typing.get_type_hints(X))
