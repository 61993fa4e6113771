# imports: data
import heapq, bisect
h = [5, 1, 3]
heapq.heapify(h)
print(heapq.heappop(h), heapq.nsmallest(2, [4, 2, 9]), bisect.bisect([1, 2, 4], 3))
