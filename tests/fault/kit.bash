# For the tests of this folder that are written in Python: NAME.sh runs NAME.py with what lib.sh knows.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
[ -x "$BUILD/tests/fault/host" ] || skip_all 'the host of the library is not built'
export CORDON CORDON_DYN CORDON_KEEPER CORDON_BUILD_DIR=$BUILD WORK SANITIZED LD_LIBRARY_PATH=$BUILD
python() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/fault/$(basename "$0" .sh).py" "$@" || FAILED=1
	finish
}
