# expect: memory_limit
bytearray(200000000)
