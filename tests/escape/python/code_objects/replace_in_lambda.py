# expect: blocked | Blocked: attribute __code__ not allowed
(lambda: 0).__code__.replace(co_code=b"\x64\x00\x53\x00")
print("ESCAPED")
