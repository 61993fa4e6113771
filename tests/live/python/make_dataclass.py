# imports: data
import dataclasses
P = dataclasses.make_dataclass("P", [("x", int), ("y", int, 3)])
print(P(1), P(1) == P(1, 3), dataclasses.asdict(P(5)))
