import json
print(json.dumps({"b": [1, 2.5, None, True], "a": "ü"}, sort_keys=True, indent=1))
try:
    json.loads("{")
except json.JSONDecodeError as e:
    print(e.msg, e.pos)
