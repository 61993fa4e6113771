# expect: ok | TypeError
# imports: data
import dataclasses, json
class F: pass
@dataclasses.dataclass
class A:
    x: int
f = dataclasses.fields(A)[0]
f.name = "__glo" + "bals__"
try:
    print("ESCAPED", dataclasses.asdict(json.dumps))
except Exception as e:
    print(type(e).__name__)
