#!/usr/bin/env bash
# kill -9 of `cordon apply` at random moments: every file is the old one or the new one, and the next apply ends the work.
. "$(dirname "$0")/kit.bash"
"$CORDON" explain --cow . -- true >/dev/null 2>"$ERR" || skip_all "no copy-on-write here: $(head -n 1 "$ERR")"
export XDG_STATE_HOME=$T/state
mkdir "$XDG_STATE_HOME"
python "$@"
