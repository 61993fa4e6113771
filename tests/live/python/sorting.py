print(sorted("hello", key=lambda c: (-ord(c))), min([3, 1], default=0), max("ab", "b", key=len), list(reversed([1, 2])), list(zip([1], [2])), list(enumerate("a")))
