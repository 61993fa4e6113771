/* What happens to a run, as JSON lines with time and sandboxId. */
#include <poll.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/scope.h"
#include "engine/internal.h"

static const char *const names[] = {
	[EVENT_CREATED] = "sandbox.created",       [EVENT_STARTED] = "execution.started",   [EVENT_KILLED] = "execution.killed",
	[EVENT_COMPLETED] = "execution.completed", [EVENT_DESTROYED] = "sandbox.destroyed",
};

static void put_details(struct json_writer *w, const struct run *run, enum event_kind kind, enum kill_reason reason)
{
	if (kind == EVENT_CREATED) {
		json_put_string(w, "isolationLevel", run->decision.plan.level);
		json_put_string(w, "backend", run->decision.plan.backend);
	}
	if (kind == EVENT_KILLED)
		json_put_string(w, "reason", kill_reason_row(reason)->json);
	const struct outcome *o = kind == EVENT_COMPLETED ? run_outcome(run) : NULL;
	if (!o)
		return;
	if (o->exit_code >= 0)
		json_put_int(w, "exitCode", o->exit_code);
	else
		json_put_null(w, "exitCode");
	json_put_fixed(w, "durationMs", o->duration_us);
	if (o->kind == OUTCOME_FAILED)
		json_put_string(w, "error", o->err.message);
}

void event_write(const struct run *run, enum event_kind kind, enum kill_reason reason)
{
	if (run->events_fd < 0)
		return;
	char now[32];
	clock_calendar(now, sizeof now);
	autoclean(buf_done) struct buf line = BUF_MAX(8192);
	struct json_writer w = json_writer_on(&line, 0);
	json_open(&w, NULL, '{');
	json_put_string(&w, "type", names[kind]);
	json_put_string(&w, "time", now);
	json_put_string(&w, "sandboxId", run->id);
	put_details(&w, run, kind, reason);
	json_close(&w, '}');
	buf_add_text(&line, "\n");
	/* A reader that does not read must not hold up the keeper, which may live in this process. */
	struct pollfd reader = { .fd = run->events_fd, .events = POLLOUT };
	if (buf_check(&line) == 0 && poll(&reader, 1, 0) > 0 && (reader.revents & POLLOUT))
		fd_write_all(run->events_fd, line.data, line.size);
}
