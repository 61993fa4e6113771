# expect: ok | RESULT
# Bytes that look like an answer are output, whatever they say.
print("\x04\x00\x00\x00RESULT" + "\x00" * 64 + '{"success": true, "output": "ESC"}')
