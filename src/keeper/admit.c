/* Where runs begin: a START message becomes a run that is watched, or an end that says why not. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/scope.h"
#include "keeper/state.h"

static int take_slot(struct keeper *k, struct run *run)
{
	for (uint32_t i = 0; i < KEEPER_MAX_RUNS; i++)
		if (!k->runs[i]) {
			k->runs[i] = run;
			k->count++;
			k->top = i >= k->top ? i + 1 : k->top;
			run->slot = i;
			return 0;
		}
	return -EAGAIN;
}

/* A run that could not be started ends at once, with the reason. */
static void stillborn(struct run *run)
{
	run->started_us = run->ended_us = clock_now_us();
	group_drop(&run->keeper->groups, run);
	keeper_say_ended(run);
}

/* No slot, or no memory for a run. */
static void refuse(struct keeper *k, const struct wire_frame *frame, bool full)
{
	struct wire_reader r = { frame->payload.data, frame->payload.data + frame->payload.size, false };
	struct wire_ended ended = { .run = wire_get_u64(&r) };
	if (full) {
		err_set(&ended.err, ERR_IO, EAGAIN, "keeper", "%d runs at a time are the most", KEEPER_MAX_RUNS);
		err_hint(&ended.err, -EAGAIN, "wait until one has ended, or open a second engine");
	} else {
		err_nomem(&ended.err);
	}
	struct wire_writer w = { BUF_MAX(8192) };
	wire_put_ended(&w, &ended);
	keeper_say(k, WIRE_ENDED, &w);
	buf_done(&w.out);
}

void keeper_on_start(struct keeper *k, struct wire_frame *frame)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run || take_slot(k, run) < 0) {
		refuse(k, frame, run != NULL);
		free(run);
		return;
	}
	run->keeper = k;
	run->parking = &k->parking;
	run->pidfd = run->status = run->private_dir = run->upper = -1;
	run->ears = (struct ears){ .notify = -1, .peer = -1, .listener = -1, .resume_us = INT64_MAX };
	run->streams[0] = run->streams[1] = (struct stream){ .from = -1, .to = -1 };
	run->deadline_us = INT64_MAX;
	run->group = GROUP_NONE;
	struct start start = { 0 };
	int result = start_read(frame, &start, &run->err);
	run->number = start.number;
	run->tell_start = start.tell_start;
	run->want_samples = start.want_samples;
	run->only_status = start.only_status;
	run->host_core = start.host_core;
	run->plan = start.plan;
	if (result < 0 || run_spawn(run, &k->spare, &k->jails, &start, frame->fds, &run->err) < 0) {
		stillborn(run);
		return;
	}
	frame->fds[1] = frame->fds[2] = -1; /* the sinks are the streams' now */
	run->output_left = run->plan.limits.output_bytes;
	meter_start(run);
	int64_t wall_ms = run->plan.limits.wall_ms;
	run->deadline_us = wall_ms == PLAN_UNLIMITED ? INT64_MAX : run->started_us + wall_ms * 1000;
	int watched = run->jail ? 0 : keeper_watch(k, run->pidfd, EPOLLIN, keeper_tag(run, SOURCE_PIDFD));
	/* The reports can wait in their pipe for the end or for the meter's next look: each wake-up costs as much as a fork. */
	bool tell = run->tell_start || group_is_needed(&run->plan.limits); /* who ends is not held back any more */
	if (tell && !run->jail && watched == 0)
		watched = keeper_watch(k, run->status, EPOLLIN, keeper_tag(run, SOURCE_STATUS));
	for (int which = 0; which < 2 && watched == 0; which++)
		watched = keeper_watch_stream(run, which);
	if (watched < 0)
		run_abort(run, -watched);
	else if (run->ears.notify >= 0)
		keeper_watch_ears(run, run->ears.notify, true);
}
