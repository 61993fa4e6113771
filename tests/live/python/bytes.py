b = bytearray(b"abc")
b[0] = 90
print(b, bytes([1, 2]).hex(), memoryview(b)[1], b"a b".split(), int.from_bytes(b"\x01\x00", "big"))
