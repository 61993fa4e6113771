# imports: data
import statistics
print(statistics.mean([1, 2, 3, 4]), statistics.median([1, 3, 2]), statistics.stdev([1, 2, 3]), statistics.mode("aab"))
