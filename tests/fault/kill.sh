#!/usr/bin/env bash
# kill -9 of host, keeper and both at random moments: no child lives on, nothing is left after the next start.
. "$(dirname "$0")/kit.bash"
python "$@"
