# expect: ok
print("\ud800", "\x00", "\x1b[2J")
