# imports: data
from dataclasses import dataclass, field, asdict
from enum import Enum
from collections import namedtuple, Counter
import datetime


@dataclass(order=True)
class P:
    x: int
    y: int = 0
    tags: list = field(default_factory=list)


class C(Enum):
    RED = 1
    BLUE = 2


T = namedtuple("T", "a b")
print(P(1), P(1) < P(2), asdict(P(3, tags=["a"])), C.RED, C(2).name, T(1, 2)._replace(a=5))
print(Counter("hello").most_common(1), datetime.date(2024, 2, 29) + datetime.timedelta(days=1))
print(datetime.datetime.strptime("2024-05-06 07:08", "%Y-%m-%d %H:%M").isoformat())
