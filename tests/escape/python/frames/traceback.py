# expect: blocked | attribute __traceback__
try:
    1/0
except Exception as e:
    print("ESCAPED", e.__traceback__)
