# expect: blocked | Blocked: attribute __self__ not allowed
stream = print.__self__.sys.stdout.buffer.raw
stream.write(b"ESCAPED")
