# expect: TypeError | TypeError: cannot create 'code' instances
def f(): pass
C = type(type(f).__dict__["__co" + "de__"].__get__(f))
C(0, 0, 0, 0, 0, 0, b"", (), (), (), "", "", "", 0, b"", b"", (), ())
print("ESCAPED")
