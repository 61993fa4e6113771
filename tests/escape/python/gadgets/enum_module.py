# expect: contained
# imports: data
import enum
E = enum.Enum("E", "A", module="os")
print(E.A)
