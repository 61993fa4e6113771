# expect: ok | nothing
i = globals()["__built" + "ins__"]["__imp" + "ort__"]
m = i("_strptime")
print("ESCAPED" if m is not None else "nothing")
