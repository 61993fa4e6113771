/* A seccomp profile in the JSON of Docker and OCI → BPF, at run time: with libseccomp, and seccomp_rules.h for comparisons.
 *
 * Read as Docker and runc read it, with these differences, all of them narrower:
 *  - calls of this architecture only: archMap and architectures may list others (x86, x32), they are killed nevertheless;
 *  - runs hold no capabilities: blocks that include some never apply, blocks that exclude some always do;
 *  - SCMP_ACT_KILL ends the process, not only the thread: half a program is worse than none;
 *  - SCMP_ACT_TRACE and SCMP_ACT_NOTIFY are refused: nobody traces the run, and the listener is cordon's own;
 *  - of all blocks about a call that hold, the strictest counts, as with stacked filters; libseccomp would take the first, or
 *    drop those that compare arguments;
 *  - unknown keys, actions, comparisons and flags are errors. Unknown system calls are skipped, as everywhere: profiles name
 *    those of all architectures and kernels, and what is skipped falls to the default action.
 * SCMP_ACT_LOG allows and leaves a line in the audit log, as the profile says. Argument values are below 2^63. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* The program as an array of struct sock_filter. *ret_program is overwritten: it must be empty. */
int seccomp_from_oci(const char *path, struct buf *ret_program, struct err *e);

/* The same from memory; `name` is what errors call it. */
int seccomp_from_oci_text(const char *text, size_t length, const char *name, struct buf *ret_program, struct err *e);
