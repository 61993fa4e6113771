# expect: ok | no
import json.decoder
try:
    print("ESCAPED", json.decoder.re)
except AttributeError:
    print("no")
