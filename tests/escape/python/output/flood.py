# expect: output_limit
# timeoutMs: 4000
while True:
    print("x" * 10000)
