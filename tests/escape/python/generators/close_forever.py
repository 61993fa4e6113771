# expect: timeout | exceeded
# timeoutMs: 400
def g():
    while True:
        try: yield
        except BaseException: pass
i = g(); next(i)
while True:
    try: i.close()
    except RuntimeError: pass
