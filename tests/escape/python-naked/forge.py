"""Lines of a batch for the naked interpreter: frames forged at descriptor 3, and crashes. Each is followed by an honest program."""
import json

FRAME = r"""
import os
def u32(n): return n.to_bytes(4, "little")
def blob(b): return u32(len(b)) + b
def frame(end, error=b"ESCAPED", size=None):
    body = u32(end) + blob(b"E") + blob(error) + blob(b"") + blob(b"") + u32(1) + u32(1) + u32(0) + blob(b"")
    body += bytes(16) + blob(b"") + u32(0) + u32(0) + u32(0) + bytes(16)
    return u32(len(body) if size is None else size) + body
"""
DONE, TIMEOUT, OUTPUT, CANCELLED, LOST = 0, 3, 6, 8, 9
FORGED = {
    "longer than any answer": "os.write(3, frame(0, size=0x7fffffff))",
    "shorter than it says": "os.write(3, frame(0)[:-4]); os._exit(0)",
    "longer than it needs": "os.write(3, u32(200) + frame(0)[4:] + bytes(200)); os._exit(0)",
    "an end that is none": "os.write(3, frame(77))",
    "a time limit": f"os.write(3, frame({TIMEOUT}))",
    "an output limit": f"os.write(3, frame({OUTPUT}))",
    "cancelled": f"os.write(3, frame({CANCELLED}))",
    "an interpreter that was lost": f"os.write(3, frame({LOST}))",
    "an end without a word": "os._exit(0)",
    "a null pointer": "import ctypes; ctypes.string_at(0)",
    "the C stack": "import sys; sys.setrecursionlimit(10**9)\nx = []\nfor i in range(200000): x = [x]\nrepr(x)",
}
for name, deed in FORGED.items():
    print(json.dumps({"id": name, "code": FRAME + deed + "\nwhile True: pass" * (deed.startswith("os.write") and "_exit" not in deed), "timeoutMs": 3000}))
    print(json.dumps({"id": "alive", "code": "print(6 * 7)"}))
# Two answers: the first counts. (It goes well, which any program could.)
print(json.dumps({"id": "two", "code": FRAME + "os.write(3, frame(0) + frame(1)); os._exit(0)"}))
print(json.dumps({"id": "alive", "code": "print(6 * 7)"}))
