# expect: ok | no
# imports: data
import collections
print("ESCAPED" if hasattr(collections, "_sys") else "no")
