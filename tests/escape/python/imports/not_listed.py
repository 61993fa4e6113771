# expect: blocked | Import not whitelisted: numpy. Allowed: json, re, typing
import numpy
