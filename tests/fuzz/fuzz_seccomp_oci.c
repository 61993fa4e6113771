/* Seccomp profiles come from policy files that a project may bring along. Whatever compiles must be a program that the kernel would
 * take, and it must not crash, hang or leak. */
#include <stdint.h>
#include <stdlib.h>

#include "base/scope.h"
#include "kernel/seccomp_oci.h"

#include "../unit/bpf_sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(buf_done) struct buf program = { 0 };
	struct err e = { 0 };
	int result = seccomp_from_oci_text((const char *)data, size, "fuzz", &program, &e);
	if (result < 0 && (e.code == ERR_NONE || program.data))
		abort();
	if (result >= 0 && (program.size % sizeof(struct sock_filter) ||
			    !sim_valid((const struct sock_filter *)program.data, program.size / sizeof(struct sock_filter))))
		abort();
	return 0;
}
