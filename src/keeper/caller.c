#include "keeper/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

static int open_of(pid_t thread, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", thread, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static ssize_t read_of(pid_t thread, const char *name, char *out, size_t size)
{
	autoclean(fd_done) int fd = open_of(thread, name);
	ssize_t got = fd < 0 ? fd : read(fd, out, size - 1);
	out[got > 0 ? got : 0] = '\0';
	return got;
}

pid_t caller_process(pid_t thread)
{
	char text[1024];
	const char *line = read_of(thread, "status", text, sizeof text) > 0 ? strstr(text, "\nTgid:") : NULL;
	long process = line ? strtol(line + strlen("\nTgid:"), NULL, 10) : 0;
	return process > 0 ? (pid_t)process : thread;
}

void caller_program(pid_t thread, char *out, size_t size)
{
	char path[64], text[4096];
	snprintf(path, sizeof path, "/proc/%d/exe", thread);
	ssize_t got = readlink(path, text, sizeof text - 1);
	if (got <= 0) {
		got = read_of(thread, "comm", text, sizeof text);
		got -= got > 0; /* its newline */
	}
	text[got > 0 ? got : 0] = '\0';
	const char *slash = strrchr(text, '/');
	snprintf(out, size, "%s", slash ? slash + 1 : text);
}

ssize_t caller_memory(pid_t thread, uint64_t address, char *out, size_t size)
{
	autoclean(fd_done) int fd = open_of(thread, "mem");
	if (fd < 0)
		return fd;
	if (address > INT64_MAX)
		return -EFAULT;
	ssize_t got = pread(fd, out, size - 1, (off_t)address);
	out[got > 0 ? got : 0] = '\0';
	return got < 0 ? -errno : got;
}

int caller_text(pid_t thread, uint64_t address, char *out, size_t size)
{
	ssize_t got = caller_memory(thread, address, out, size);
	if (got < 0)
		return (int)got;
	return memchr(out, '\0', (size_t)got) ? 0 : -ENAMETOOLONG;
}
