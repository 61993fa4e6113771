# expect: ok | no
# imports: data
import operator
a = getattr(operator, "attrgetter", None)
print("ESCAPED" if a and a("__globals__")(operator.add) else "no")
