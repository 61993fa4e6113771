# imports: data
import math, cmath
print(math.sqrt(2), math.comb(5, 2), math.gcd(12, 18), cmath.sqrt(-1), math.isclose(0.1 + 0.2, 0.3))
