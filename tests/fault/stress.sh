#!/usr/bin/env bash
# stress-ng inside of a run of 256 MB and 10 processes: the machine stays healthy.
. "$(dirname "$0")/kit.bash"
need stress-ng
python "$@"
