# expect: blocked | vars of a built-in type
print("ESCAPED", vars(type)["__sub" + "classes__"](object))
