class A:
    def __init__(self, x):
        self.x = x

    @property
    def double(self):
        return self.x * 2

    @classmethod
    def make(cls):
        return cls(21)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.x!r})"


class B(A):
    def __init__(self, x):
        super().__init__(x)


print(A.make(), B(3).double, isinstance(B(1), A), [c.x for c in map(A, range(3))])
