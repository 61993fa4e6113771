# expect: E | E: <no text>
# While an error is put into words, the program's own code runs: it is still watched.
class E(Exception):
    def __str__(self):
        b = globals()["__built" + "ins__"]
        return "ESCAPED" if b["__imp" + "ort__"]("os") else ""
raise E()
