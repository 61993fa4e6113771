# expect: blocked | attribute __globals__
# imports: data
import functools, json
print("ESCAPED", functools.reduce(getattr, ["__glo" + "bals__"], json.dumps))
