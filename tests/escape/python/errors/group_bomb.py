# expect: ExceptionGroup | ExceptionGroup: gggggggggggggggggggggggggggggggggggggggggggg
# timeoutMs: 1000
e = ValueError(1)
for i in range(3000):
    e = ExceptionGroup("g" * 1000, [e] * 2)
raise e
