# imports: data
import operator
print(operator.add(1, 2), sorted([(1, 2), (0, 3)], key=operator.itemgetter(0)), operator.mul(3, 4))
