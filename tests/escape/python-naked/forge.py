"""Lines of a batch for the naked interpreter: frames forged at descriptor 3, and crashes. Each is followed by an honest program.

    forge.py            prints the lines; an id is [what is expected, which forgery]
    forge.py check FILE reads the results, and prints a line for each: ok - …, or not ok - … with what came

What is expected: how it ends, and "taken" if the frame's own words are in the result. Of a frame that is refused nothing may be."""
import json
import sys

FRAME = r"""
import os
def u32(n): return n.to_bytes(4, "little")
def blob(b): return u32(len(b)) + b
def frame(end, error=b"FORGED", size=None, kind=1, truncated=0, signal=0, walls=0, peak=0, tail=b"FORGED"):
    body = u32(end) + blob(b"E") + blob(error) + blob(b"FORGED") + blob(b"FORGED") + u32(7654) + u32(7654) + u32(kind) + blob(b'"FORGED"')
    body += peak.to_bytes(8, "little") + (7654).to_bytes(8, "little") + blob(tail) + u32(truncated) + u32(signal) + u32(walls) + bytes(16)
    return u32(len(body) if size is None else size) + body
"""
DONE, RAISED, BLOCKED, TIMEOUT, MEMORY, OUTPUT, CANCELLED, LOST = 0, 1, 2, 3, 4, 6, 8, 9
FORGED = [
    ("crash", "longer than any answer", "os.write(3, frame(0, size=0x7fffffff))"),
    ("crash", "shorter than it says", "os.write(3, frame(0)[:-4]); os._exit(0)"),
    ("crash", "longer than it needs", "os.write(3, u32(400) + frame(0)[4:] + bytes(400)); os._exit(0)"),
    ("crash", "empty", "os.write(3, bytes(4))"),
    ("crash", "a type that is none", "os.write(3, frame(77))"),
    ("crash", "a kind of value that is none", "os.write(3, frame(0, kind=9))"),
    ("crash", "cut, or not, or what", "os.write(3, frame(0, truncated=2))"),
    ("crash", "a signal that is none", "os.write(3, frame(0, signal=128))"),
    ("crash", "walls that are none", "os.write(3, frame(0, walls=1 << 31))"),
    ("crash", "a text over its maximum", "os.write(3, frame(1, error=b'FORGED' * 20000))"),
    ("crash", "an output over its maximum", "os.write(3, frame(0, tail=b'FORGED' * 20000))"),
    ("crash", "a time limit", f"os.write(3, frame({TIMEOUT}))"),
    ("crash", "an output limit", f"os.write(3, frame({OUTPUT}))"),
    ("crash", "cancelled", f"os.write(3, frame({CANCELLED}))"),
    ("crash", "an interpreter that was lost", f"os.write(3, frame({LOST}))"),
    ("crash", "an end without a word", "os._exit(0)"),
    ("crash", "a null pointer", "import ctypes; ctypes.string_at(0)"),
    ("crash", "the C stack", "import sys; sys.setrecursionlimit(10**9)\nx = []\nfor i in range(200000): x = [x]\nrepr(x)"),
    ("timeout", "half a header, and then nothing", "os.write(3, frame(0)[:3])"),
    ("timeout", "half a frame, and then nothing", "os.write(3, frame(0)[:-40])"),
    ("timeout", "byte by byte, and not the last", "for b in frame(0)[:-40]: os.write(3, bytes([b]))"),
    ("RuntimeError", "from a thread", "import _thread\n_thread.start_new_thread(os.write, (3, frame(0)))"),
    # The twins: what any program could have, it can also say by itself. Who says two things is believed the first.
    ("DONE taken", "twin: done", "os.write(3, frame(0)); os._exit(0)"),
    ("DONE taken", "twin: byte by byte", "for b in frame(0): os.write(3, bytes([b]))"),
    ("DONE taken", "twin: a text at its maximum", "os.write(3, frame(0, tail=b'FORGED..' * 2048))"),
    ("E taken", "twin: raised", f"os.write(3, frame({RAISED}))"),
    ("blocked taken", "twin: blocked", f"os.write(3, frame({BLOCKED}))"),
    ("memory_limit taken", "twin: memory, and more of it than there was", f"os.write(3, frame({MEMORY}, peak=1 << 60))"),
    ("DONE taken", "twin: two answers", f"os.write(3, frame(0) + frame({RAISED})); os._exit(0)"),
    ("DONE taken", "twin: an answer, and half of another", f"os.write(3, frame(0) + frame({RAISED})[:40])"),
]


def lines():
    for expected, name, deed in FORGED:
        wait = "\nwhile True: pass" * ("_exit" not in deed)
        yield {"id": [expected, name], "code": FRAME + deed + wait, "timeoutMs": 300 if expected == "timeout" else 3000}
        yield {"id": ["DONE", "alive"], "code": "print(6 * 7)"}


def complain(result):
    """What is wrong with it, or None."""
    expected, name = result["id"]
    end, _, taken = expected.partition(" ")
    if (result.get("errorType") or "DONE") != end:
        return "another end"
    if name == "alive":
        return None if result["output"] == "42\n" else "another output"
    words = json.dumps({key: value for key, value in result.items() if key != "id"})
    if not taken and ("FORGED" in words or "7654" in words):
        return "words of a frame that is refused"
    if taken and ("FORGED" not in result["output"] or result["resourceUsage"]["peakMemoryMB"] > 50 or result["executionTimeMs"] <= 0):
        return "an answer of any program, bounded"
    return None


def check(path):
    results = [json.loads(line) for line in open(path)]
    for result in results:
        wrong = complain(result)
        print(f"{'not ok' if wrong else 'ok'} - forged: {result['id'][1]}: {result['id'][0]}" + (f" # {wrong}: {json.dumps(result)[:500]}" if wrong else ""))
    whole = [line["id"] for line in lines()] == [result["id"] for result in results]
    print(f"{'ok' if whole else 'not ok'} - all {len(results)} of them answered, in order")


if sys.argv[1:2] == ["check"]:
    check(sys.argv[2])
else:
    for line in lines():
        print(json.dumps(line))
