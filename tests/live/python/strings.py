print("a,b".partition(","), "x".join("abc"), "  a ".strip(), "abc".center(9, "*"), "%05.1f|%-4s|" % (3.14159, "a"), "{:,}".format(1234567), "a\tb".expandtabs(4), "Ab".swapcase(), "1".zfill(3))
