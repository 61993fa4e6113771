# expect: memory_limit | 8MB
# memoryMB: 8
x = bytearray(20000000)
