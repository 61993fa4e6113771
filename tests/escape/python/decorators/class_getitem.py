# expect: blocked | Blocked: eval/exec/compile not allowed
class L(list):
    __class_getitem__ = eval
print("ESCAPED", L["1"])
