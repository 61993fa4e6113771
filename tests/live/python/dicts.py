d = {"a": 1, **{"b": 2}}
d |= {"c": 3}
print(d, list(d.items()), d.get("z", 0), d.pop("a"), dict(x=1), {k: v for k, v in sorted(d.items(), reverse=True)})
