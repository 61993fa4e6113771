# expect: ok | own str3
# An object that print() writes to is the program's own, and what it is given is text.
class File:
    fd = 3
    def fileno(self): return 3
    def write(self, text): global got; got = type(text).__name__ + str(self.fileno())
got = ""
print("forged", file=File(), end="")
print("own", got)
