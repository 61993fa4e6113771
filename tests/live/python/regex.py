import re
print(re.sub(r"(\w+) (\w+)", r"\2 \1", "a b"), re.split("[,;]", "a,b;c"), re.search("(?P<x>\\d+)", "a12")["x"], re.findall("a.", "abac", re.I))
