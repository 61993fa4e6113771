#!/usr/bin/env bash
# Control groups of version 2, which this machine may not have, and an older kernel: in a guest of QEMU's. Once is enough.
. "$(dirname "$0")/../lib.sh"
is_root || { ok 'the guest was started by root'; finish; }
[ -z "$SANITIZED" ] || skip_all 'the guest takes static programs only'
need qemu-system-x86_64 cpio busybox
[ -s "$BUILD/guest/vmlinuz" ] || skip_all 'the kernel was not fetched: tools/test-guest --prepare'
"$TOP/tools/test-guest" "$BUILD" || FAILED=1
finish
