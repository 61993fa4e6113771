# expect: ValueError
# imports: data
import collections
collections.namedtuple("X", ["a", "__import__('os')"])
print("ESCAPED")
