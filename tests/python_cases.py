"""Run Python programs through cordon python --batch and compare them with what their first lines expect.

    python_cases.py escape FOLDER     attacks: FOLDER/CLASS/NAME.py, none may print ESCAPED, none may hurt the runner
    python_cases.py honest FOLDER     programs: FOLDER/NAME.py, their output is what plain python3 -I prints

The comment lines at the top of a program say what is expected:

    # expect: blocked | text          refused by the Python layer, with this text in the error
    # expect: NAME | text             ends with this errorType (ZeroDivisionError, SyntaxError, timeout, memory_limit, crash, …); an attack
                                      that ends by an exception says which, word by word
    # expect: ok | text               goes well, with this text in its output
    # imports: data                   which set it may import (default)
    # allow: xml                      one module more
    # line: 3                         where the error is said to be
    # timeoutMs: 500   # memoryMB: 50   # outputBytes: 1000
    # input: [1, 2]

Prints one line a program. The environment names the programs: CORDON, CORDON_PYTHON."""
import json
import os
import pathlib
import re
import subprocess
import sys

PLAIN = "/usr/bin/python3"  # the one whose libpython cordon-python is linked with
ALIVE = {"code": "print('alive')", "id": "alive"}


def header(path):
    found = {}
    for line in path.read_text(errors="surrogateescape").splitlines():
        match = re.match(r"# (expect|imports|allow|line|timeoutMs|memoryMB|outputBytes|input): (.*)", line)
        if not match:
            if line.startswith("#"):
                continue
            break
        found[match[1]] = match[2].strip()
    return found


def item(path, said):
    line = {"id": str(path), "code": path.read_text(errors="surrogateescape")}
    for key in ("timeoutMs", "memoryMB", "outputBytes"):
        if key in said:
            line[key] = int(said[key])
    if "input" in said:
        line["input"] = json.loads(said["input"])
    return line


def batch(lines, options, stage):
    """{id: result}. Between the programs, now and then, an honest one: the runner lives."""
    lines = [line for entry in lines for line in (entry, ALIVE)]
    stage.write_text("".join(json.dumps(line) + "\n" for line in lines), errors="surrogateescape")
    done = subprocess.run([os.environ["CORDON"], "python", *options, "--batch", str(stage)], capture_output=True, text=True, errors="replace",
                          timeout=250, env={**os.environ})
    results, alive = {}, 0
    for line in done.stdout.splitlines():
        result = json.loads(line)
        if result["id"] == "alive":
            alive += result["success"] and result["output"] == "alive\n"
        else:
            results[result["id"]] = result
    if alive != len(lines) // 2:
        print(f"not ok - the runner serves {len(lines) // 2} honest programs between the others\n# it served {alive}; {done.stderr[:300]}")
    else:
        print(f"ok - the runner serves an honest program after each of {alive}, with {' '.join(options)}")
    return results


# What there is at least: how many programs, and of the attacks one of each class.
LEAST = {"escape": 120, "honest": 60}
CLASSES = {
    "import tricks": "imports/*", "builtins recovery": "builtins/*", "attribute chains": "attributes/*", "frame walking": "frames/*",
    "format strings": "formats/*", "metaclasses": "metaclasses/*", "descriptors": "descriptors/*", "generators": "generators/*",
    "decorators without parentheses": "decorators/*", "unicode look-alikes": "builtins/unicode*", "encoding cookies": "parser/cookie*",
    "codecs": "gadgets/codecs*", "pickle-like gadgets": "gadgets/*reduce*", "typing.get_type_hints": "gadgets/type_hints*",
    "string.Formatter": "formats/formatter*", "operator.attrgetter": "gadgets/operator_attrgetter*",
    "functools.singledispatch": "gadgets/singledispatch*", "ctypes": "blocked/ctypes*", "crafted code objects": "code_objects/*",
    "fd games": "descriptors_of_files/*", "frame forging": "output/forged*", "memory": "memory/*", "CPU": "cpu/*", "output": "output/*",
    "parser bombs": "parser/*", "error-formatting time attacks": "errors/*loop*", "threads": "threads/*",
}


def missing(kind, folder):
    """What a folder of programs lacks, in words."""
    lacks = [name for name, pattern in CLASSES.items() if kind == "escape" and not any(folder.glob(pattern))]
    count = sum(1 for _ in folder.rglob("*.py"))
    return lacks + [f"{LEAST[kind] - count} more programs"] * (count < LEAST[kind])


LIMITS = ("ok", "timeout", "memory_limit", "output_limit", "crash")


def complain_reason(path, said):
    """An attack that ends by a slip of its own tests nothing: each says by which error it ends, and only the parser's end in the parser."""
    kind, _, text = (word.strip() for word in said.get("expect", "").partition("|"))
    if not kind or (kind not in LIMITS and not text):
        return "it does not say by which error it ends"
    return "it is not even compiled" if kind == "SyntaxError" and path.parent.name != "parser" else None


def complain_escape(said, result):
    """What is wrong with this result, or None."""
    if result is None:
        return "no result"
    kind, _, text = (word.strip() for word in said.get("expect", "ok").partition("|"))
    if "ESCAPED" in result["output"]:
        return "ESCAPED"
    if kind == "ok" and (not result["success"] or text not in result["output"]):
        return "it should go well"
    if kind != "ok" and (result.get("errorType") != kind or text not in result["error"]):
        return f"expected {kind}: {text}"
    if "line" in said and result.get("line") != int(said["line"]):
        return f"expected line {said['line']}"
    return None


def complain_honest(path, said, result):
    if result is None:
        return "no result"
    if said.get("expect", "same") != "same":
        return complain_escape(said, result)
    prefix = f"input = __import__('json').loads({said['input']!r})\n" if "input" in said else ""
    plain = subprocess.run([PLAIN, "-I", "-c", prefix + path.read_text()], capture_output=True, text=True, env={"TZ": "UTC0", "LANG": "C.UTF-8"})
    if not result["success"] or plain.returncode or result["output"] != plain.stdout:
        return f"plain python3: status {plain.returncode}, {plain.stdout[-200:]!r} {plain.stderr[-200:]!r}"
    return None


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    stage = pathlib.Path(os.environ.get("T", "/tmp")) / "batch.jsonl"
    groups, failed = {}, False
    for path in sorted(folder.rglob("*.py")):
        said = header(path)
        options = ["--imports", said.get("imports", "default")] + [word for name in said.get("allow", "").split() for word in ("--allow-import", name)]
        groups.setdefault(tuple(options), []).append((path, said))
    for options, cases in groups.items():
        results = batch([item(path, said) for path, said in cases], options, stage)
        for path, said in cases:
            result = results.get(str(path))
            wrong = (complain_reason(path, said) or complain_escape(said, result)) if kind == "escape" else complain_honest(path, said, result)
            print(f"{'not ok' if wrong else 'ok'} - {path.relative_to(folder)}")
            if wrong:
                failed = True
                print(f"# {wrong}\n# {json.dumps(result)[:600]}")
    stage.unlink(missing_ok=True)
    lacks = missing(kind, folder)
    print(f"{'not ok' if lacks else 'ok'} - at least {LEAST[kind]} programs, of every class" + (f"\n# it lacks {', '.join(lacks)}" if lacks else ""))
    sys.exit(failed or bool(lacks))


main()
