# imports: data
import random
r = random.Random(5)
print(r.random(), r.randint(1, 9), r.sample(range(9), 3))
random.seed(1)
print(random.choice("abc"))
