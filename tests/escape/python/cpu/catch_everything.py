# expect: timeout
# timeoutMs: 300
while True:
    try:
        while True: pass
    except BaseException:
        pass
