# expect: blocked | Blocked import detected: multiprocessing
from multiprocessing.dummy import Pool
Pool(2).map(print, ["ESCAPED"])
