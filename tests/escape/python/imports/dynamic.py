# expect: blocked | Blocked import detected: os
# A name that the analysis does not see: the import function itself refuses.
def find():
    return [v for k, v in globals()["__built" + "ins__"].items() if k == "__imp" + "ort__"][0]
print("ESCAPED", find()("os").getpid())
