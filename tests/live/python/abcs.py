# imports: data
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sized
class A(ABC):
    @abstractmethod
    def f(self): ...
try:
    A()
except TypeError as e:
    print("abstract")
class L:
    def __len__(self): return 1
print(isinstance(L(), Sized), isinstance([], Iterable))
