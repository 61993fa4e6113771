# expect: blocked | attribute __globals__
import json
match json.dumps:
    case object(__globals__=g):
        print("ESCAPED", g)
