#include "kernel/wake.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

static size_t records_size(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE); /* a head, and the least there is */
}

int wake_open(pid_t thread, struct wake *ret)
{
	struct perf_event_attr what = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER1,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.context_switch = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	autoclean(fd_done) int fd = (int)syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Who may not write there lets the kernel begin anew at the end: it is never full. */
	void *records = mmap(NULL, records_size(), PROT_READ, MAP_SHARED, fd, 0);
	if (records == MAP_FAILED)
		return -errno;
	*ret = (struct wake){ TAKE_FD(fd), records };
	return 0;
}

void wake_done(struct wake *wake)
{
	munmap(wake->records, records_size()); /* first: as long as it is there the descriptor stays in every epoll */
	fd_done(&wake->fd);
}
