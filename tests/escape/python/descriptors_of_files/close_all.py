# expect: blocked | Blocked: open not allowed, programs have no files
def close(number):
    try:
        open(number, closefd=True).close()
    except Exception as e:
        return type(e)
print("ESCAPED", [close(n) for n in range(10)])
