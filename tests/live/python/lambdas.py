print(list(map(lambda x: x + 1, [1, 2])), (lambda *a, **k: (a, k))(1, b=2))
