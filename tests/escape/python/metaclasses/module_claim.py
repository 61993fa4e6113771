# expect: NameError | NameError: name 'system' is not defined
import typing
class X:
    __module__ = "os"
    x: "system('echo ESC' 'APED')"
print(typing.get_type_hints(X))
