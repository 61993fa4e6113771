/* What happens to a run, as JSON lines with time and sandboxId: to the run's own descriptor, and to whoever subscribed. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/scope.h"
#include "engine/internal.h"
#include "net/verdict.h"

static const char *const names[] = {
	[EVENT_CREATED] = "sandbox.created",       [EVENT_STARTED] = "execution.started",
	[EVENT_WARNING] = "limit.warning",         [EVENT_VIOLATION] = "security.violation",
	[EVENT_CONNECTION] = "network.connection", [EVENT_PUBLISHED] = "port.published",
	[EVENT_KILLED] = "execution.killed",       [EVENT_SAMPLE] = "resource.sample",
	[EVENT_COMPLETED] = "execution.completed", [EVENT_DESTROYED] = "sandbox.destroyed",
};

static void put_amount(struct json_writer *w, const char *key, int64_t amount, int64_t unit)
{
	if (amount % unit == 0)
		json_put_int(w, key, amount / unit);
	else
		json_put_fixed(w, key, amount / unit * 1000 + amount % unit * 1000 / unit);
}

/* In the name and the unit of the policy's field. */
static void put_warning(struct json_writer *w, const struct wire_warning *warning)
{
	const struct limited *limited = limited_by(warning->limit);
	if (!limited)
		return;
	json_put_string(w, "limitType", policy_limit_rows[limited->limit].json);
	put_amount(w, "current", warning->current, limited->scale);
	put_amount(w, "max", warning->max, limited->scale);
}

static void put_sample(struct json_writer *w, const struct wire_sample *s)
{
	json_put_fixed(w, "elapsedMs", s->at_us);
	json_put_fixed(w, "cpuTimeMs", s->cpu_us);
	json_put_fixed(w, "memoryMB", s->memory_bytes * 1000 / (1 << 20));
	json_put_int(w, "processes", s->processes);
	json_put_int(w, "threads", s->threads);
	json_put_int(w, "diskBytes", s->disk_bytes);
	json_put_int(w, "outputBytes", s->output_bytes);
}

static void put_connection(struct json_writer *w, const struct wire_connection *c)
{
	static const char *const speeches[NET_SPEECHES] = { "unknown", "connect", "http", "socks5", "published" };
	const struct net_verdict_row *row = net_verdict_row((enum net_verdict)c->verdict);
	static const char *const fates[] = {
		[NET_FATE_OPEN] = "allowed", [NET_FATE_REFUSED] = "refused", [NET_FATE_FAILED] = "failed"
	};
	json_put_string(w, "result", fates[row->fate]);
	json_put_string(w, "host", c->host[0] ? c->host : NULL);
	if (c->port)
		json_put_int(w, "port", c->port);
	else
		json_put_null(w, "port");
	json_put_string(w, "address", c->address[0] ? c->address : NULL);
	json_put_string(w, "protocol", speeches[c->speech < NET_SPEECHES ? c->speech : 0]);
	json_put_string(w, "code", row->json);
	json_put_string(w, "reason", row->text);
}

static void put_outcome(struct json_writer *w, const struct outcome *o)
{
	if (o->exit_code >= 0)
		json_put_int(w, "exitCode", o->exit_code);
	else
		json_put_null(w, "exitCode");
	json_put_fixed(w, "durationMs", o->duration_us);
	if (o->kind == OUTCOME_FAILED)
		json_put_string(w, "error", o->err.message);
}

static void put_details(struct json_writer *w, const struct engine_event *event)
{
	const struct run *run = event->run;
	if (event->kind == EVENT_CREATED) {
		json_put_string(w, "isolationLevel", run->decision.plan.level);
		json_put_string(w, "backend", run->decision.plan.backend);
	} else if (event->kind == EVENT_WARNING) {
		put_warning(w, event->warning);
	} else if (event->kind == EVENT_SAMPLE) {
		put_sample(w, event->sample);
	} else if (event->kind == EVENT_VIOLATION) {
		denial_put(w, "violation", &run->decision.policy, event->denial);
	} else if (event->kind == EVENT_CONNECTION) {
		put_connection(w, event->connection);
	} else if (event->kind == EVENT_PUBLISHED) {
		json_put_int(w, "port", event->published->inside);
		json_put_int(w, "hostPort", event->published->outside);
	} else if (event->kind == EVENT_KILLED) {
		json_put_string(w, "reason", kill_reason_row(event->reason)->json);
	} else if (event->kind == EVENT_COMPLETED && run_outcome(run)) {
		put_outcome(w, run_outcome(run));
	} else if (event->kind == EVENT_DESTROYED) {
		const struct outcome *o = run_outcome(run);
		json_put_int(w, "eventsDropped", (int64_t)(run->events.dropped + (o ? o->missed : 0)));
	}
}

static struct json_writer begin(struct buf *line, const struct run *run, const char *type)
{
	char now[32];
	clock_calendar(now, sizeof now);
	struct json_writer w = json_writer_on(line, 0);
	json_open(&w, NULL, '{');
	json_put_string(&w, "type", type);
	json_put_string(&w, "time", now);
	json_put_string(&w, "sandboxId", run->id);
	return w;
}

/* Where lines are missing, one says how many. */
static void say_gap(struct run *run)
{
	struct event_queue *q = &run->events;
	if (q->gap == 0 || q->kind == SINK_GONE)
		return;
	autoclean(buf_done) struct buf line = BUF_MAX(256);
	struct json_writer w = begin(&line, run, "events.dropped");
	json_put_int(&w, "count", (int64_t)event_queue_gap(q));
	json_close(&w, '}');
	buf_add_text(&line, "\n");
	event_queue_add(q, &line, false);
}

void events_flush(struct run *run)
{
	struct event_queue *q = &run->events;
	if (!event_queue_is_open(q) || (q->lines.size == 0 && q->gap == 0))
		return;
	event_queue_flush(q);
	if (event_queue_has_room(q))
		say_gap(run);
	event_queue_flush(q);
}

static bool is_news(enum event_kind kind)
{
	return kind == EVENT_WARNING || kind == EVENT_VIOLATION || kind == EVENT_CONNECTION;
}

static void queue_line(struct run *run, enum event_kind kind, struct buf *line)
{
	buf_add_text(line, "\n");
	if (!is_news(kind) || event_queue_has_room(&run->events))
		say_gap(run);
	event_queue_add(&run->events, line, is_news(kind));
	events_flush(run);
}

void event_tell(struct run *run, const struct engine_event *what)
{
	const struct engine *engine = run->engine;
	bool to_file = event_queue_is_open(&run->events) && what->kind != EVENT_SAMPLE;
	if (!to_file && (!engine->subscriber_count || run->unheard & 1u << what->kind))
		return;
	struct engine_event event = *what;
	autoclean(buf_done) struct buf line = BUF_MAX(8192);
	struct json_writer w = begin(&line, run, names[event.kind]);
	event.run = run;
	event.sandbox_id = run->id;
	put_details(&w, &event);
	json_close(&w, '}');
	event.json = buf_text(&line);
	for (size_t i = 0; i < engine->subscriber_count; i++)
		engine->subscribers[i].listener(engine->subscribers[i].context, &event);
	if (to_file)
		queue_line(run, event.kind, &line);
}

int engine_subscribe(struct engine *engine, engine_listener listener, void *context)
{
	struct subscriber *more = reallocarray(engine->subscribers, engine->subscriber_count + 1, sizeof *more);
	if (!more)
		return -ENOMEM;
	engine->subscribers = more;
	more[engine->subscriber_count++] = (struct subscriber){ listener, context };
	return 0;
}
