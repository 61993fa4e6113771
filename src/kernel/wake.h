/* Who tells when a thread that sleeps gets a processor: the kernel's record of a switch (perf), by which a descriptor becomes
 * readable. Nothing is asked, and a thread that sleeps on costs nothing. No privilege is needed but to look into the process; the
 * first one of a machine takes as long as the first counter (kernel/counter.h). */
#pragma once

#include <sys/types.h>

struct wake {
	int fd;
	void *records; /* nobody reads them: that there are some is all */
};

/* -errno; EPERM where too much memory is locked already: two pages a thread, beyond what kernel.perf_event_mlock_kb gives. */
int wake_open(pid_t thread, struct wake *ret);
void wake_done(struct wake *wake);
