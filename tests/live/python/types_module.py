# imports: data
import types
n = types.SimpleNamespace(a=1)
print(n, types.MappingProxyType({"a": 1})["a"], isinstance(print, object), types.new_class("X").__name__)
