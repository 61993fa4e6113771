#!/usr/bin/env bash
# Attack programs, by class: tests/escape/python/CLASS/*.py. Their first lines say what is expected (tests/python_cases.py).
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON_PYTHON" ] || skip_all 'cordon was built without Python'
export CORDON T
/usr/bin/python3 "$TOP/tests/python_cases.py" escape "$TOP/tests/escape/python" || FAILED=1
finish
