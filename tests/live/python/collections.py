# imports: data
from collections import *
d = defaultdict(list)
d["a"].append(1)
q = deque([1, 2], maxlen=2)
q.append(3)
print(dict(d), q, OrderedDict(a=1), Counter("abca"), ChainMap({"a": 1}, {"b": 2})["b"])
