# expect: ok | E.A
# imports: data
import enum
E = enum.Enum("E", "A", module="os")
print(E.A)
