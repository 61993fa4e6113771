#include "front/cli/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scope.h"
#include "front/cli/stats_csv.h"

/* After this long one row a second is enough: a week then makes a file that can still be drawn. */
#define DENSE_MS 600000
#define SPARSE_MS 1000

static int refuse(const char *path, int errnum, const char *why, struct err *e)
{
	int result = err_set(e, ERR_USAGE, errnum, "options", "--stats \"%s\" %s", path, why);
	return err_hint(e, result, "give a name that is not taken, or that of an earlier --stats file");
}

/* What is there already is ours, or nothing. */
static bool is_stats(int fd, off_t size)
{
	autoclean(buf_done) struct buf header = BUF_MAX(1024);
	stats_put_header(&header);
	char bytes[1024];
	return size == 0 ||
	       (pread(fd, bytes, header.size, 0) == (ssize_t)header.size && memcmp(bytes, header.data, header.size) == 0);
}

int stats_open(struct stats_writer *w, const char *path, struct err *e)
{
	/* A link in a place that runs can write may have been planted there, to somewhere that they cannot. */
	autoclean(fd_done) int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0666);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(path, errno, "cannot be opened for writing", e);
	if (!S_ISREG(st.st_mode))
		return refuse(path, 0, "is no file", e);
	if (!is_stats(fd, st.st_size))
		return refuse(path, 0, "is a file of another kind, and is not overwritten", e);
	if (ftruncate(fd, 0) < 0)
		return refuse(path, errno, "cannot be emptied", e);
	autoclean(buf_done) struct buf header = BUF_MAX(1024);
	stats_put_header(&header);
	int wrote = fd_write_all(fd, header.data, header.size);
	if (wrote < 0)
		return refuse(path, -wrote, "cannot be written", e);
	*w = (struct stats_writer){ .fd = TAKE_FD(fd) };
	return 0;
}

void stats_done(struct stats_writer *w)
{
	fd_done(&w->fd);
}

static int64_t limit(int64_t value)
{
	return value == PLAN_UNLIMITED ? STATS_NONE : value;
}

static void take_limits(struct stats_row *row, const struct plan_limits *limits)
{
	row->v[STATS_TIME_LIMIT] = limit(limits->wall_ms);
	row->v[STATS_CPU_LIMIT] = limit(limits->cpu_ms);
	row->v[STATS_MEMORY_LIMIT] = limit(limits->memory_bytes);
	row->v[STATS_PROCESSES_LIMIT] = limit(limits->processes);
	row->v[STATS_DISK_LIMIT] = limit(limits->disk_bytes);
	row->v[STATS_OUTPUT_LIMIT] = limit(limits->output_bytes);
}

static void take_sample(struct stats_row *row, const struct wire_sample *s)
{
	row->v[STATS_TIME] = s->at_us / 1000;
	row->v[STATS_CPU] = s->cpu_us / 1000;
	row->v[STATS_MEMORY] = s->memory_bytes;
	row->v[STATS_PROCESSES] = s->processes;
	row->v[STATS_THREADS] = s->threads;
	row->v[STATS_DISK] = s->disk_bytes;
	row->v[STATS_OUTPUT] = s->output_bytes;
}

/* The totals; memory and the like as they were last seen, or their peak if nobody looked in time. */
static void take_outcome(struct stats_row *row, const struct outcome *o, bool sampled)
{
	int64_t end_ms = o->duration_us / 1000;
	row->v[STATS_TIME] = end_ms > row->v[STATS_TIME] ? end_ms : row->v[STATS_TIME];
	row->v[STATS_CPU] = o->usage.cpu_us / 1000;
	row->v[STATS_OUTPUT] = o->usage.output_bytes;
	if (sampled)
		return;
	row->v[STATS_MEMORY] = o->usage.peak_memory_bytes;
	row->v[STATS_PROCESSES] = row->v[STATS_THREADS] = o->usage.processes;
}

static void put(struct stats_writer *w, const char *event, const char *detail)
{
	autoclean(buf_done) struct buf line = BUF_MAX(1024);
	buf_add_format(&line, "%s%s", event, detail);
	size_t length = line.size < STATS_EVENT_MAX ? line.size : STATS_EVENT_MAX - 1;
	memcpy(w->last.event, buf_text(&line), length);
	w->last.event[length] = '\0';
	line.size = 0;
	stats_put_row(&line, &w->last);
	int wrote = w->errnum ? 0 : fd_write_all(w->fd, line.data, line.size);
	w->errnum = wrote < 0 ? -wrote : w->errnum;
	w->written_ms = w->last.v[STATS_TIME];
}

void stats_hear(struct stats_writer *w, const struct engine_event *event)
{
	struct stats_row *row = &w->last;
	if (w->fd < 0)
		return;
	int64_t now_ms = (clock_now_us() - w->started_us) / 1000; /* for what happens between two looks */
	if (w->started_us && (event->kind == EVENT_WARNING || event->kind == EVENT_KILLED) && now_ms > row->v[STATS_TIME])
		row->v[STATS_TIME] = now_ms;
	if (event->kind == EVENT_STARTED) {
		w->started_us = clock_now_us();
		take_limits(row, &run_decision(event->run)->plan.limits);
		put(w, "start", "");
	} else if (event->kind == EVENT_SAMPLE && w->started_us) { /* before that, what is seen is not the command */
		take_sample(row, event->sample);
		w->sampled = true;
		if (row->v[STATS_TIME] < DENSE_MS || row->v[STATS_TIME] - w->written_ms >= SPARSE_MS)
			put(w, "", "");
	} else if (event->kind == EVENT_WARNING) {
		const char *name = engine_limit_name(event->warning->limit);
		put(w, "warning:", name ? name : "");
	} else if (event->kind == EVENT_KILLED) {
		put(w, "killed:", kill_reason_row(event->reason)->json);
	} else if (event->kind == EVENT_COMPLETED) {
		take_limits(row, &run_decision(event->run)->plan.limits);
		take_outcome(row, run_outcome(event->run), w->sampled);
		put(w, "end", "");
	}
}
