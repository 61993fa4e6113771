# expect: blocked | Blocked: attribute __traceback__ not allowed
def g():
    try:
        yield
    except ValueError as e:
        print("ESCAPED", e.__traceback__.tb_frame)
i = g(); next(i); i.throw(ValueError())
