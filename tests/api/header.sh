#!/usr/bin/env bash
# The public header compiles by itself, twice in a row, without a word. Usage: header.sh INCLUDE LANGUAGE FLAG...
set -u
include=$1 language=$2
shift 2
case $language in c++) compiler=${CXX:-g++} ;; *) compiler=${CC:-cc} ;; esac
command -v "$compiler" >/dev/null || { echo "skip - the header as $language # $compiler is not here"; exit 0; }
if output=$(printf '#include <cordon/cordon.h>\n#include <cordon/cordon.h>\nstruct cordon_run_options o;\nint main(void) { return cordon_version() == 0; }\n' |
	"$compiler" -x "$language" "$@" -pedantic-errors -Wall -Wextra -Wshadow -Werror -I"$include" -fsyntax-only - 2>&1); then
	echo "ok - the header as $language $*"
else
	echo "not ok - the header as $language $*"
	sed 's/^/# /' <<<"$output"
	exit 1
fi
