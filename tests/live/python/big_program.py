# imports: data
import json
from collections import Counter
text = "the quick brown fox jumps over the lazy dog the end"
words = Counter(text.split())
class Report:
    def __init__(self, c): self.c = c
    def top(self, n): return [{"word": w, "count": k} for w, k in self.c.most_common(n)]
print(json.dumps(Report(words).top(2)))
for i in range(3):
    for j in range(3):
        if i == j: continue
        print(i, j, end=" ")
else:
    print()
