#include <linux/sched.h>
#include <sched.h>

#include "kernel/raw.h"
#include "kernel/schedule.h"

#define TURN_NS 100000 /* the least there is; a look of the meter takes about as long */

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
	if (RAW(sched_getattr, 0, &now, sizeof now, 0) < 0 || now.policy != SCHED_NORMAL)
		return; /* whoever chose another policy for us had a reason */
	now.size = sizeof now;
	now.flags |= SCHED_FLAG_RESET_ON_FORK;
	now.runtime = TURN_NS;
	RAW(sched_setattr, 0, &now, 0);
}
