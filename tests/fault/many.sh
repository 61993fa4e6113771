#!/usr/bin/env bash
# Many runs, in a row and at once: nothing is left, and descriptors do not add up.
. "$(dirname "$0")/kit.bash"
python "$@"
