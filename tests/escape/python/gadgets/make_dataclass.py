# expect: ok | X(a=1)
# imports: data
import dataclasses
X = dataclasses.make_dataclass("X", [("a", "__import__('os').system('echo ESC' 'APED')")])
print(X(1))
