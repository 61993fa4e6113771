# imports: data
from itertools import *
print(list(permutations("abc", 2))[:3], list(islice(count(5), 3)), [(k, len(list(g))) for k, g in groupby("aabc")], list(accumulate([1, 2, 3])), list(product([1, 2], "ab")))
