/* The public C API: events. The engine calls us while it dispatches; what a run asked for is copied into a queue, from which
 * the host takes it when it likes. */
#include "engine/public.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "engine/internal.h"

#define MOST_DROPPABLE 4096
#define DROPPABLE (CORDON_EVENT_WARNING | CORDON_EVENT_VIOLATION | CORDON_EVENT_SAMPLE | CORDON_EVENT_CONNECTION)

/* The engine's word for each of ours. Its last one, EVENT_DESTROYED, says what COMPLETED promises already. */
static const struct {
	enum event_kind inner;
	unsigned outer;
} kinds[] = {
	{ EVENT_CREATED, CORDON_EVENT_CREATED },     { EVENT_STARTED, CORDON_EVENT_STARTED },
	{ EVENT_WARNING, CORDON_EVENT_WARNING },     { EVENT_VIOLATION, CORDON_EVENT_VIOLATION },
	{ EVENT_SAMPLE, CORDON_EVENT_SAMPLE },       { EVENT_KILLED, CORDON_EVENT_KILLED },
	{ EVENT_COMPLETED, CORDON_EVENT_COMPLETED }, { EVENT_CONNECTION, CORDON_EVENT_CONNECTION },
	{ EVENT_PUBLISHED, CORDON_EVENT_PUBLISHED },
};

static unsigned outer_kind(enum event_kind inner)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (kinds[i].inner == inner)
			return kinds[i].outer;
	return 0;
}

uint32_t public_unheard(unsigned events)
{
	uint32_t unheard = UINT32_MAX;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (events & kinds[i].outer)
			unheard &= ~(1u << kinds[i].inner);
	return unheard;
}

static void waiting_free(struct waiting *w)
{
	if (w)
		free(w->json);
	free(w);
}

static void fill(struct waiting *w, const struct engine_event *event)
{
	const struct limited *limited = event->kind == EVENT_WARNING ? limited_by(event->warning->limit) : NULL;
	w->json = event->json ? strdup(event->json) : NULL;
	if (event->kind == EVENT_KILLED)
		w->reason = kill_reason_row(event->reason)->json;
	if (limited) {
		w->limit = policy_limit_rows[limited->limit].json;
		w->current = (double)event->warning->current / (double)limited->scale;
		w->max = (double)event->warning->max / (double)limited->scale;
	}
	if (event->kind == EVENT_PUBLISHED) {
		w->port = event->published->inside;
		w->host_port = event->published->outside;
	}
	const struct wire_sample *s = event->kind == EVENT_SAMPLE ? event->sample : NULL;
	if (s)
		w->sample = (struct cordon_sample){
			sizeof w->sample, s->at_us,   s->cpu_us,     s->memory_bytes,
			s->processes,     s->threads, s->disk_bytes, s->output_bytes,
		};
}

void public_hear(void *context, const struct engine_event *event)
{
	struct cordon_engine *engine = context;
	struct cordon_run *run = run_owner(event->run);
	unsigned kind = outer_kind(event->kind);
	if (!run || !(run->events & kind)) /* let go of, or not asked for */
		return;
	struct waiting *w = NULL;
	const struct outcome *outcome = kind == CORDON_EVENT_COMPLETED ? run_outcome(event->run) : NULL;
	engine->missed += outcome ? outcome->missed : 0; /* what the keeper could not tell */
	if (kind == CORDON_EVENT_COMPLETED)
		w = TAKE(run->completed);
	else if (!(kind & DROPPABLE) || engine->droppable < MOST_DROPPABLE)
		w = calloc(1, sizeof *w);
	if (!w) {
		engine->missed++;
		return;
	}
	w->kind = kind;
	w->run = run;
	fill(w, event);
	engine->droppable += (kind & DROPPABLE) != 0;
	*engine->last = w;
	engine->last = &w->next;
}

void public_forget(struct cordon_engine *engine, const struct cordon_run *run)
{
	struct waiting **at = &engine->first;
	while (*at) {
		struct waiting *w = *at;
		if (run && w->run != run) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		engine->droppable -= (w->kind & DROPPABLE) != 0;
		waiting_free(w);
	}
	engine->last = at;
	if (engine->taken && (!run || engine->taken->run == run))
		waiting_free(TAKE(engine->taken));
}

static void hand_out(const struct waiting *w, uint64_t missed, struct cordon_event *event)
{
	struct cordon_event known = {
		.size = event->size < sizeof known ? event->size : sizeof known,
		.kind = w->kind,
		.run = w->run,
		.json = w->json,
		.reason = w->reason,
		.limit = w->limit,
		.current = w->current,
		.max = w->max,
		.sample = w->kind == CORDON_EVENT_SAMPLE ? &w->sample : NULL,
		.missed = missed,
		.port = w->port,
		.host_port = w->host_port,
	};
	memcpy(event, &known, known.size);
}

int cordon_engine_next_event(struct cordon_engine *engine, struct cordon_event *event)
{
	if (!engine || !event || event->size < offsetof(struct cordon_event, json))
		return -EINVAL;
	if (!engine->first)
		TRY(engine_dispatch(engine->engine));
	struct waiting *w = engine->first;
	if (w) {
		waiting_free(engine->taken);
		engine->taken = w;
		engine->first = w->next;
		engine->last = engine->first ? engine->last : &engine->first;
		engine->droppable -= (w->kind & DROPPABLE) != 0;
		hand_out(w, engine->missed, event);
		engine->missed = 0;
	}
	public_follow(engine);
	return w != NULL;
}
