/* To wake an idle processor takes as long as a jail needs to look whether it is as new. So where nobody else is under way we are
 * woken by the end of the output, which comes right before, take the rest of it, and are awake when the jail tells the end. That
 * helps only if the kernel wakes us beside it and not on its processor, where we would interrupt the command in the middle of its
 * end. Mostly it does one or the other for a while: each time that it did not help fewer runs are tried, down to one in 64. */
#include <sched.h>

#include "keeper/jail.h"
#include "keeper/run.h"

void jail_rouse(struct jail *jail)
{
	const char byte = 0;
	parcel_send(jail->socket, &byte, JAIL_ROUSED, NULL, 0);
}

/* To bring names back takes longer than a jail stays awake: it is roused after that. */
bool jail_has_names(const struct jail *jail)
{
	return plan_has(&jail->plan, OP_PLACEHOLDER);
}

#define MOST_NOT_EARLY 64

static bool is_elsewhere(const struct jail *jail)
{
	return (int)jail->board->core != sched_getcpu();
}

bool jails_choose_early(struct jails *jails, struct jail *jail)
{
	bool can = keeper_has_one_run(jails->keeper) && is_elsewhere(jail);
	jail->early = can && jails->no_early == 0;
	if (can && jails->no_early > 0)
		jails->no_early--;
	return jail->early;
}

static void note_early(struct jails *jails, bool helped)
{
	uint32_t least = jails->least_no_early;
	jails->no_early = helped ? 0 : least > 0 ? least : 1;
	jails->least_no_early = helped ? 0 : jails->no_early < MOST_NOT_EARLY ? 2 * jails->no_early : MOST_NOT_EARLY;
}

#define AWAKE_TRIES 60 /* some 50 us */

void jails_await(struct jails *jails, struct jail *jail)
{
	struct run *run = jail->run;
	if (!jail->early)
		return;
	jail->early = false;
	for (int i = 0; i < AWAKE_TRIES && jail->run == run && !run->have_status && is_elsewhere(jail); i++) {
		jails_hear(jails, jail);
		if (jail->run == run)
			sched_yield();
	}
	note_early(jails, jail->run != run);
}
