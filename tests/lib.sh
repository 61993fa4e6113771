# For tests/{live,escape,fault}/*.sh, sourced first:  . "$(dirname "$0")/../lib.sh"
#
# A test prints one line a result: "ok - text", "not ok - text" or "skip - text # reason"; lines with # are remarks. It ends
# with a status other than 0 when something was not ok. tools/test runs it as root and as an ordinary user, counts, and
# looks for what was left behind.
#
# $CORDON $CORDON_KEEPER $CORDON_DYN $CORDON_PYTHON   the programs under test
# $PROBE_DIR      the programs of tests/probe; they need --read "$PROBE_DIR"
# $T              a folder of this test's own, removed at its end
# $WORK           a folder in it that an ordinary user owns; the test starts there
# ${GROUNDS[@]}   working directories of every kind that makes a plan of its own, $WORK the first
# $SANITIZED      not empty under make asan: what was built has a loader then
# ${NO_NAMESPACES[@]} COMMAND...   as root: a host on which no user namespace can be made
# ${ROOM[@]}      options for runs of programs that were built: sanitized ones reserve terabytes, and trace themselves for leaks
# $OUT $ERR       files: what the last command of run, expect_status printed; $STATUS its exit status
# shellcheck shell=bash disable=SC2034
set -u
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${CORDON_BUILD:-$TOP/build}
CORDON_DYN=$BUILD/cordon-dyn
CORDON=${CORDON:-$BUILD/cordon}
CORDON_KEEPER=${CORDON_KEEPER:-$BUILD/cordon-keeper}
export CORDON_PYTHON=${CORDON_PYTHON:-$BUILD/cordon-python}
PROBE_DIR=$BUILD/tests/probe
SANITIZED=$(grep -qs __asan_init "$CORDON" && echo yes)
NO_NAMESPACES=(python3 "$TOP/tests/no_namespaces.py")
ROOM=(--memory 1G)
[ -z "$SANITIZED" ] || ROOM=(--memory unlimited --env ASAN_OPTIONS=detect_leaks=0)
TEST_UID=${CORDON_TEST_UID:-1000}

T=$(mktemp -d "${TMPDIR:-/tmp}/test-XXXXXX") || exit 1
GROUND=
clean_up() { # for tests with a trap of their own
	[ "$BASHPID" = $$ ] || return 0 # a child that is killed before it becomes its command would do it, too
	cd / && chmod -R u+rwX "$T" $GROUND 2>/dev/null
	! is_root || chattr -R -i "$T" $GROUND 2>/dev/null
	rm -rf "$T" $GROUND
}
trap clean_up EXIT
chmod 755 "$T"
WORK=$T/work OUT=$T/out ERR=$T/err STATUS=
FAILED=0
mkdir "$WORK" && : >"$OUT" && : >"$ERR"
[ "$(id -u)" -ne 0 ] || chown "$TEST_UID:$TEST_UID" "$WORK"
cd "$WORK" || exit 1

is_root() { [ "$(id -u)" -eq 0 ]; }

# Working directories that make different plans: for root one behind a closed directory (covers, as $T is), one of an ordinary
# user, which needs no mounts, and one of root's own (ids mapped).
GROUNDS=("$WORK")
if is_root; then
	GROUND=$(mktemp -d /tmp/test-XXXXXX) && chmod 755 "$GROUND" && mkdir "$GROUND/user" "$GROUND/root" && chown "$TEST_UID:$TEST_UID" "$GROUND/user" || exit 1
	GROUNDS+=("$GROUND/user" "$GROUND/root")
fi

ok() { echo "ok - $*"; }
not_ok() { # TEXT [REMARK...]
	echo "not ok - $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | head -n 20 | cut -c 1-400 | sed 's/^/# /'
	FAILED=1
}
skip() { echo "skip - $1 # $2"; } # TEXT REASON
skip_all() { # REASON
	skip "$(basename "$0" .sh)" "$1"
	exit 0
}
finish() { exit "$FAILED"; } # the last line of every test
need() { # PROGRAM...: without these the test cannot run
	local program
	for program; do command -v "$program" >/dev/null || skip_all "$program is not here"; done
}
times() { if [ -n "${CORDON_SOAK:-}" ]; then echo "$2"; else echo "$1"; fi; } # SHORT LONG: how often, in make test and make soak

# Run a command with its output in $OUT and $ERR. Nothing is judged.
run() {
	"$@" >"$OUT" 2>"$ERR" </dev/null
	STATUS=$?
}
# What the next expectations are about; without it they describe themselves by the command.
ABOUT=
about() { ABOUT=$*; }
describe() { # TEXT
	local text=${ABOUT:+$ABOUT: }$1
	text=${text//$CORDON/cordon}
	text=${text//$T/\$T}
	echo "${text//$PROBE_DIR/\$PROBE_DIR}" | tr '\n\t' '  ' | cut -c 1-200
}
remarks() { echo "status $STATUS"; head -c 1500 "$OUT" | sed 's/^/out: /'; echo; head -c 1500 "$ERR" | sed 's/^/err: /'; }

expect() { # TEXT COMMAND...: the command succeeds
	local text output status
	text=$(describe "$1")
	shift
	output=$("$@" 2>&1)
	status=$?
	if [ $status -eq 0 ]; then ok "$text"; else not_ok "$text" "status $status from $*" "$output"; fi
}
expect_status() { # STATUS COMMAND...
	local want=$1
	shift
	run "$@"
	local text
	text=$(describe "exit $want from $*")
	if [ "$STATUS" = "$want" ]; then ok "$text"; else not_ok "$text" "$(remarks)"; fi
}
expect_in() { # FILE PATTERN: some line matches the extended regular expression
	local text
	text=$(describe "$(basename "$1") has $2")
	if grep -qE -- "$2" "$1"; then ok "$text"; else not_ok "$text" "$(remarks)"; fi
}
expect_not_in() { # FILE PATTERN
	local text
	text=$(describe "$(basename "$1") has no $2")
	if grep -qE -- "$2" "$1"; then not_ok "$text" "$(remarks)"; else ok "$text"; fi
}
expect_out() { expect_in "$OUT" "$1"; }
expect_err() { expect_in "$ERR" "$1"; }
expect_equal() { # TEXT WANT GOT
	local text
	text=$(describe "$1")
	if [ "$2" = "$3" ]; then ok "$text"; else not_ok "$text" "wanted: $2" "got:    $3"; fi
}

# One value of a JSON file by its path: json "$OUT" resourceUsage.cpuTimeMs, json "$OUT" denials.0.kind. Text comes out bare,
# everything else as JSON; what is not there as "missing".
json() { # FILE PATH
	python3 -c '
import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8"))
try:
    for word in sys.argv[2].split("."):
        value = value[int(word)] if isinstance(value, list) else value[word]
    print(value if isinstance(value, str) else json.dumps(value))
except (KeyError, IndexError, TypeError, ValueError):
    print("missing")' "$1" "$2" 2>/dev/null || echo 'not JSON'
}
expect_json() { # PATH WANT: a value of the object in $OUT
	local got
	got=$(json "$OUT" "$1")
	if [ "$got" = "$2" ]; then ok "$(describe "$1 is $2")"; else not_ok "$(describe "$1 is $2")" "got: $got" "$(remarks)"; fi
}
