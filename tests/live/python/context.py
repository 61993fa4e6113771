class C:
    def __enter__(self): print("in"); return 5
    def __exit__(self, *a): print("out"); return True
with C() as x:
    print(x)
    raise ValueError
