# expect: contained
# imports: data
import dataclasses
X = dataclasses.make_dataclass("X", [("a", "__import__('os').system('echo ESC' 'APED')")])
print(X(1))
