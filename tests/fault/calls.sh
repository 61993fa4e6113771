#!/usr/bin/env bash
# Calls of the C library (in the dynamic build) and of the kernel that fail, by count and at random: no hang, no crash, no half-built jail.
. "$(dirname "$0")/kit.bash"
need fiu-run strace
[ -z "$SANITIZED" ] || skip_all 'a sanitizer has calls of its own'
python "$@"
