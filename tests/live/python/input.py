# input: {"n": [1, 2.5, "drei", null, true]}
import json
print(json.dumps(input), [type(x).__name__ for x in input["n"]])
