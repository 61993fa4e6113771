#!/usr/bin/env bash
# Storms of signals, readers that are slow or gone, clocks that jump, hosts that are stopped: limits hold, memory stays flat.
. "$(dirname "$0")/kit.bash"
need faketime
python "$@"
