# imports: data
from decimal import *
from fractions import Fraction
getcontext().prec = 6
print(Decimal(1) / 7, Decimal("1.10") + 1, Fraction(1, 3) + Fraction(1, 6), round(Decimal("2.5")))
