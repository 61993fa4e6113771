# imports: data
import csv
print(list(csv.reader(["a,b", "1,\"x,y\""])), list(csv.DictReader(["a,b", "1,2"])))
