#!/usr/bin/env bash
# Honest programs print what plain python3 prints: tests/live/python/*.py (tests/python_cases.py).
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON_PYTHON" ] || skip_all 'cordon was built without Python'
export CORDON T
/usr/bin/python3 "$TOP/tests/python_cases.py" honest "$TOP/tests/live/python" || FAILED=1
finish
