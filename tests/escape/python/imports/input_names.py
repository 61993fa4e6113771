# expect: ok | ['__class__', '__import__']
# Names that come as data are data.
# input: {"__class__": "os", "__import__": ["posix"]}
print(sorted(input))
