#!/usr/bin/env bash
# Calls of the C library that fail, by count and at random, in the dynamic build: no hang, no crash, no half-built jail.
. "$(dirname "$0")/kit.bash"
need fiu-run
[ -z "$SANITIZED" ] || skip_all 'a sanitizer has calls of its own'
python "$@"
