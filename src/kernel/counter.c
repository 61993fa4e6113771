#include "kernel/counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int counter_open(pid_t thread)
{
	struct perf_event_attr what = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.inherit = 1,
		/* Who has no privilege must say this; a clock counts the kernel's time for the thread all the same. */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

int counter_read_us(int counter, uint64_t *ret)
{
	uint64_t ns;
	if (read(counter, &ns, sizeof ns) != (ssize_t)sizeof ns)
		return -EIO;
	*ret = ns / 1000;
	return 0;
}
