#include "kernel/schedule.h"

#include <linux/sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 1000000 /* shorter than others' by default, and long enough for a look of the meter */

/* The first version of the kernel's structure: old headers have none. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void schedule_short_turns(void)
{
	struct attributes now = { 0 };
	if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) < 0 || now.policy != SCHED_NORMAL)
		return; /* whoever chose another policy for us had a reason */
	now.size = sizeof now;
	now.flags |= SCHED_FLAG_RESET_ON_FORK;
	now.runtime = TURN_NS;
	syscall(SYS_sched_setattr, 0, &now, 0);
}
