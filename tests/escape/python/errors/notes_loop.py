# expect: ValueError | ValueError: x
# timeoutMs: 400
class Notes(list):
    def __iter__(self):
        while True: pass
e = ValueError("x")
e.__notes__ = Notes()
raise e
