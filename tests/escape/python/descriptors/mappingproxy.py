# expect: ok | no
class X:
    def __ror__(self, o): return o
d = type.__dict__ | X()
print("ESCAPED" if "posix" in str(d) else "no")
