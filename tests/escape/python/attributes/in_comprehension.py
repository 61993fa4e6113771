# expect: blocked | attribute __subclasses__
print([c for c in ().__class__.__subclasses__()], "ESCAPED")
