/* What the loop watches, and by which tag it knows what it sees. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "keeper/keeper.h"
#include "keeper/run.h"
#include "keeper/state.h"
#include "net/net.h"

uint64_t keeper_tag(const struct run *run, enum source source)
{
	return ((uint64_t)(run ? run->slot : 0) << 32) | source;
}

int keeper_watch(struct keeper *k, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };
	return epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* A file of a group can be read at any time, and tells by EPOLLPRI that it has changed; an eventfd cannot. */
static uint32_t events_of_memory(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? EPOLLPRI : EPOLLIN;
}

void keeper_watch_group(struct keeper *k, const struct run *run, int fd)
{
	keeper_watch(k, fd, run ? events_of_memory(fd) : EPOLLIN, keeper_tag(run, run ? SOURCE_MEMORY : SOURCE_WARM));
}

int keeper_watch_jail(struct keeper *k, const struct jail *jail, int fd, enum jail_source source)
{
	uint32_t events = source == JAIL_MEMORY ? events_of_memory(fd) : EPOLLIN;
	return keeper_watch(k, fd, events, (uint64_t)jail->slot << 32 | (SOURCE_JAIL + source));
}

/* A stream is watched for what it waits for: its pipe while the sink is free, the sink while it is not. What is not waited
 * for is not watched at all: epoll would tell of a hang-up over and over. A sink that cannot be watched never blocks. */
int keeper_watch_stream(struct run *run, int which)
{
	struct stream *s = &run->streams[which];
	const struct {
		int fd;
		bool wanted;
		bool *watched;
		uint32_t events;
		enum source source;
	} ends[] = {
		{ s->from, stream_wants_read(s), &s->from_watched, EPOLLIN, which ? SOURCE_ERR : SOURCE_OUT },
		{ s->to, stream_wants_write(s), &s->to_watched, EPOLLOUT, which ? SOURCE_SINK_ERR : SOURCE_SINK_OUT },
	};
	int result = 0;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		if (ends[i].fd < 0 || ends[i].wanted == *ends[i].watched)
			continue;
		int watched = 0;
		if (ends[i].wanted)
			watched = keeper_watch(run->keeper, ends[i].fd, ends[i].events, keeper_tag(run, ends[i].source));
		else
			epoll_ctl(run->keeper->epoll, EPOLL_CTL_DEL, ends[i].fd, NULL);
		*ends[i].watched = ends[i].wanted;
		if (watched < 0 && watched != -EPERM)
			result = watched;
	}
	return result;
}

void keeper_watch_ears(struct run *run, int fd, bool wanted)
{
	if (wanted && run->jail)
		keeper_watch_jail(run->keeper, run->jail, fd, JAIL_LISTENER);
	else if (wanted)
		keeper_watch(run->keeper, fd, EPOLLIN, keeper_tag(run, fd == run->ears.notify ? SOURCE_NOTIFY : SOURCE_LISTENER));
	else
		epoll_ctl(run->keeper->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void keeper_watch_network(struct run *run, bool wanted)
{
	if (wanted)
		keeper_watch(run->keeper, net_fd(run->net), EPOLLIN, keeper_tag(run, SOURCE_NETWORK));
	else
		epoll_ctl(run->keeper->epoll, EPOLL_CTL_DEL, net_fd(run->net), NULL);
}
