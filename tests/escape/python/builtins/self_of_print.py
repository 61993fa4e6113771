# expect: blocked | attribute __self__
print("ESCAPED", print.__self__)
