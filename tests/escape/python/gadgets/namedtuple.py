# expect: ValueError | ValueError: Type names and field names must be valid identifiers: "__import__('os')"
# imports: data
import collections
collections.namedtuple("X", ["a", "__import__('os')"])
print("ESCAPED")
