# expect: ValueError | ValueError: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
raise ValueError("x" * 10000000)
