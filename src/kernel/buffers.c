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

#define FIRST_ROOM 1024 /* a power of two, as are all that follow */
#define MOST_ROOM (1u << 21)

/* By its number each has a place in the table, or one after that. Free ones have the inode 0. */
struct seen {
	dev_t device;
	ino_t inode;
};

struct search {
	int pidfd;
	struct seen *seen;
	size_t count, room;
	uint32_t refused;
	uint64_t pipes, sent, queued, enough;
};

/* What a socket has sent is charged to it until the other end has read it; who has sent and is closed charges nobody, but the
 * other end knows how much waits for it. */
static uint64_t found(const struct search *s)
{
	return s->pipes + (s->sent > s->queued ? s->sent : s->queued);
}

static void search_done(struct search *s)
{
	free(s->seen);
}

static struct seen *place_of(struct seen *table, size_t room, const struct seen *one)
{
	size_t at = (size_t)((uint64_t)one->inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
	while (table[at].inode && !(table[at].inode == one->inode && table[at].device == one->device))
		at = (at + 1) & (room - 1);
	return &table[at];
}

/* At most half of it is taken. */
static bool make_room(struct search *s)
{
	size_t room = s->room ? s->room * 2 : FIRST_ROOM;
	if (s->count * 2 < s->room)
		return true;
	struct seen *more = room > MOST_ROOM ? NULL : calloc(room, sizeof *more);
	if (!more)
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->seen[i].inode)
			*place_of(more, room, &s->seen[i]) = s->seen[i];
	free(s->seen);
	s->seen = more;
	s->room = room;
	return true;
}

/* Several have the same one. Whoever cannot be remembered counts as often as it is met: a run must not hide a full one behind many
 * that are empty. */
static bool is_new(struct search *s, const struct stat *st)
{
	const struct seen one = { st->st_dev, st->st_ino };
	if (!one.inode || !make_room(s))
		return true;
	struct seen *place = place_of(s->seen, s->room, &one);
	if (place->inode)
		return false;
	*place = one;
	s->count++;
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
	if (found(s) > s->enough)
		return;
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

uint64_t buffers_bytes(const struct tree *t, int proc, uint64_t enough, uint32_t *refused)
{
	autoclean(search_done) struct search s = { .enough = enough };
	for (size_t i = 0; i < t->count && found(&s) <= enough; i++) {
		const struct tree_member *m = &t->members[i];
		char path[32];
		autoclean(fd_done) int pidfd = m->pid == t->root || m->threads == 0 ? -1 : (int)syscall(SYS_pidfd_open, m->pid, 0);
		s.pidfd = pidfd;
		snprintf(path, sizeof path, "%d/fd", m->pid);
		int listed = pidfd >= 0 ? proc_each_number(proc, path, visit, &s) : 0;
		if (listed < 0)
			note_refused(&s, -listed);
	}
	if (s.refused)
		*refused = s.refused;
	return found(&s);
}
