# expect: ok | no
# imports: data
import string
F = getattr(string, "Formatter", None)
print("ESCAPED" if F and F().get_field("0.__globals__", [F.format], {}) else "no")
