def f(x):
    match x:
        case {"a": [1, *rest]}:
            return rest
        case str() as s if len(s) > 2:
            return s.upper()
        case (a, b):
            return a + b
        case _:
            return None


print(f({"a": [1, 2, 3]}), f("abc"), f((1, 2)), f(5))
