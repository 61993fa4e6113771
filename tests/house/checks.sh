#!/usr/bin/env bash
# Break each rule of the house in a small tree of its own and see that its check says so. Every "no" has a "yes" twin.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
count=0 failed=0

result() { # STATUS TEXT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}
fresh() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/tools" "$tree/src/base" "$tree/src/kernel" "$tree/src/guard"
	cp "$top/tools/rooms" "$tree/tools/"
	cp "$top/src/base/banned.h" "$tree/src/base/"
}
allows() { # CHECK TEXT
	"$top/tools/$1" "$tree" >/dev/null
	result $? "$1 allows $2"
}
refuses() { # CHECK TEXT WORDS-OF-THE-MESSAGE
	if "$top/tools/$1" "$tree" | grep -qF -- "$3"; then result 0 "$1 refuses $2"; else result 1 "$1 refuses $2"; fi
}
source_line() { # FILE LINE
	fresh
	echo "$2" >"$tree/src/$1"
}

source_line guard/a.c '#include "base/err.h"'
allows check-rooms 'a room that is listed'
source_line guard/a.c '#include "kernel/seccomp.h"'
refuses check-rooms 'a room that is not' 'guard may not look into kernel'
source_line base/a.c '#include <jansson.h>'
allows check-rooms 'a system header in its room'
source_line guard/a.c '  #  include <jansson.h>'
refuses check-rooms 'a system header outside its room' '<jansson.h> stays in base'
source_line kernel/a.c '#include <linux/landlock.h>'
allows check-rooms 'landlock in kernel'
source_line base/a.c '#include "err.h"'
refuses check-rooms 'an include without its room' 'so that the room can be read off'
source_line base/a.c '#include "base/../guard/guard.h"'
refuses check-rooms 'a way round through ..' 'so that the room can be read off'
source_line base/a.c '#include WHAT'
refuses check-rooms 'a computed include' 'cannot be checked'
source_line guard/a.c '#include "cordon/cordon.h"'
refuses check-rooms 'the public interface below the engine' 'public interface'
mkdir -p "$tree/src/attic" && touch "$tree/src/attic/a.c"
refuses check-rooms 'a room that nobody planned' 'attic is not in tools/rooms'
fresh
echo 'cellar : attic' >>"$tree/tools/rooms"
refuses check-rooms 'a room that looks up' 'attic is not a room above cellar'

source_line base/a.c 'int a;'
allows check-bans 'plain code'
source_line base/a.c '#define CORDON_NO_BANS'
refuses check-bans 'a file that opts out' 'may not switch off'
fresh
sed -i 's/^#ifndef CORDON_NO_BANS/#if 0/' "$tree/src/base/banned.h"
refuses check-bans 'a header that bans nothing' 'does not refuse strcpy'

object() { # ROOM/FILE.c CODE: as the build would leave it
	mkdir -p "$tree/src/${1%/*}/lib${1%/*}.a.p"
	echo "$2" | cc -c -x c -w -o "$tree/src/${1%/*}/lib${1%/*}.a.p/${1#*/}.o" -
}
fresh
object keeper/enter.c 'int getpid(void); int ids_drop(void); int enter(void) { return getpid() + ids_drop(); }'
object keeper/jail.c 'int b;'
object keeper/reaper.c 'int a;'
object keeper/spare.c 'int b;'
object kernel/ids.c 'int ids_drop(void) { return 0; }'
object front/run.c 'int puts(const char *); int run(void) { return puts(""); }'
allows check-symbols 'system calls between fork and exec, and a front that prints'
object kernel/ids.c 'void *malloc(unsigned long); int ids_drop(void) { return !malloc(1); }'
refuses check-symbols 'heap memory between fork and exec' 'kernel/ids.c: runs between fork and exec and refers to malloc'
object kernel/ids.c 'int *__errno_location(void); int ids_drop(void) { return *__errno_location(); }'
refuses check-symbols 'errno between fork and exec' 'kernel/ids.c: runs between fork and exec and refers to __errno_location'
object guard/words.c 'int puts(const char *); int words(void) { return puts(""); }'
refuses check-symbols 'a library room that prints' 'guard/words.c: a library room refers to puts'

header() { # LINE: a header with one field, one function, one promise, and this
	mkdir -p "$tree/tests"
	printf '%s\n' '#include <stddef.h>' '#define CORDON_API' 'struct cordon_a {' '	size_t size; /* [P-001] */' "$1" '};' \
		'CORDON_API int cordon_do(struct cordon_a *a);' >"$tree/cordon.h"
	echo 'static void P_001_it_holds(void)' >"$tree/tests/test_a.c"
}
says() { # TEXT WORDS COMMAND...: it fails and says so
	local text=$1 words=$2
	shift 2
	if output=$("$@" 2>&1) || ! grep -qF -- "$words" <<<"$output"; then result 1 "$text"; else result 0 "$text"; fi
}
header ''
"$top/tools/check-abi" --update "$tree/cordon.h" "$tree/tests/abi.txt" >/dev/null && "$top/tools/check-abi" "$tree/cordon.h" "$tree/tests/abi.txt" >/dev/null
result $? 'check-abi allows what it wrote'
header '	int more;'
says 'check-abi refuses a field that is not in the list' '+struct cordon_a 8+4 more' "$top/tools/check-abi" "$tree/cordon.h" "$tree/tests/abi.txt"
header ''
sed -i 's/int cordon_do/long cordon_do/' "$tree/cordon.h"
says 'check-abi refuses another prototype' '-function int cordon_do' "$top/tools/check-abi" "$tree/cordon.h" "$tree/tests/abi.txt"
echo 'int counter; int next(void) { return counter++; }' | cc -c -x c -w -o "$tree/a.o" - && ar rc "$tree/lib.a" "$tree/a.o"
says 'check-abi refuses a library with global state' 'global state' "$top/tools/check-abi" "$tree/cordon.h" "$tree/tests/abi.txt" "$tree/lib.a"
header ''
"$top/tools/check-promises" "$tree/cordon.h" "$tree/tests/test_a.c" >/dev/null
result $? 'check-promises allows a promise with a test'
header '	int b; /* [P-002] */'
says 'check-promises refuses one without' '< P-002' "$top/tools/check-promises" "$tree/cordon.h" "$tree/tests/test_a.c"
header ''
echo 'static void P_003_nobody_said_so(void)' >>"$tree/tests/test_a.c"
says 'check-promises refuses a test of nothing' '> P-003' "$top/tools/check-promises" "$tree/cordon.h" "$tree/tests/test_a.c"

echo "1..$count"
exit $failed
