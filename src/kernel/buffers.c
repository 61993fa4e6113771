#include "kernel/buffers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/tree.h"

#define MOST_SEEN 4096

struct search {
	int pidfd;
	struct {
		dev_t device;
		ino_t inode;
	} seen[MOST_SEEN];
	size_t count;
	uint32_t refused;
	uint64_t pipes, sent, queued;
};

/* Several have the same one. Those of a parent and its children, or of a pair, lie close together: from the end. */
static bool is_new(struct search *s, const struct stat *st)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->seen[i].inode == st->st_ino && s->seen[i].device == st->st_dev)
			return false;
	if (s->count == MOST_SEEN)
		return false;
	s->seen[s->count].device = st->st_dev;
	s->seen[s->count++].inode = st->st_ino;
	return true;
}

/* What has gone into a pipe may fill a page for each byte: so one that is not empty counts as full. */
static uint64_t pipe_bytes(int fd)
{
	int held = 0, size = ioctl(fd, FIONREAD, &held) == 0 && held > 0 ? fcntl(fd, F_GETPIPE_SZ) : 0;
	return size > 0 ? (uint64_t)size : 0;
}

static void add_socket(struct search *s, int fd)
{
	uint32_t memory[SK_MEMINFO_VARS] = { 0 };
	socklen_t size = sizeof memory;
	int queued = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &size) == 0) {
		uint32_t sent = memory[SK_MEMINFO_WMEM_ALLOC], kept = memory[SK_MEMINFO_WMEM_QUEUED];
		s->sent += (uint64_t)memory[SK_MEMINFO_RMEM_ALLOC] + (sent > kept ? sent : kept);
	}
	if (ioctl(fd, FIONREAD, &queued) == 0 && queued > 0)
		s->queued += (uint64_t)queued;
}

/* Who has ended or closed it meanwhile refuses nothing. */
static void note_refused(struct search *s, int errnum)
{
	if (errnum != ESRCH && errnum != EBADF && errnum != ENOENT)
		s->refused = (uint32_t)errnum;
}

static void visit(void *data, int dir, pid_t number)
{
	struct search *s = data;
	struct stat st;
	char name[16];
	snprintf(name, sizeof name, "%d", number);
	if (fstatat(dir, name, &st, 0) < 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) || !is_new(s, &st))
		return;
	autoclean(fd_done) int fd = (int)syscall(SYS_pidfd_getfd, s->pidfd, number, 0);
	if (fd < 0) {
		note_refused(s, errno);
		return;
	}
	if (S_ISFIFO(st.st_mode))
		s->pipes += pipe_bytes(fd);
	else
		add_socket(s, fd);
}

uint64_t buffers_bytes(const struct tree *t, int proc, uint32_t *refused)
{
	struct search *s = calloc(1, sizeof *s);
	for (size_t i = 0; s && i < t->count; i++) {
		const struct tree_member *m = &t->members[i];
		char path[32];
		autoclean(fd_done) int pidfd = m->pid == t->root || m->threads == 0 ? -1 : (int)syscall(SYS_pidfd_open, m->pid, 0);
		s->pidfd = pidfd;
		snprintf(path, sizeof path, "%d/fd", m->pid);
		int listed = pidfd >= 0 ? proc_each_number(proc, path, visit, s) : 0;
		if (listed < 0)
			note_refused(s, -listed);
	}
	if (s && s->refused)
		*refused = s->refused;
	/* What a socket has sent is charged to it until the other end has read it; who has sent and is closed charges nobody, but
	 * the other end knows how much waits for it. */
	uint64_t bytes = s ? s->pipes + (s->sent > s->queued ? s->sent : s->queued) : 0;
	free(s);
	return bytes;
}
