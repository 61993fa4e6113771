/* Our direct children, from the kernel's own list. Raw system calls only: the reaper uses it, too. */
#include "keeper/run.h"

#include "kernel/raw.h"

size_t children_list(pid_t *ret, size_t room)
{
	char text[4096];
	int fd = RAW(openat, AT_FDCWD, "/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	int size = RAW(read, fd, text, sizeof text);
	raw_close(&fd);
	size_t count = 0;
	pid_t number = 0;
	/* Every number is followed by a space; one that the buffer cut is left for the next look. */
	for (int i = 0; i < size && count < room; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			number = number * 10 + (text[i] - '0');
		} else if (number > 0) {
			ret[count++] = number;
			number = 0;
		}
	}
	return count;
}
