/* The keeper's turn at a processor: before everybody else where it may, and else on one that is left to it (docs/decisions 0052,
 * 0090). */
#include "keeper/run.h"
#include "keeper/state.h"
#include "kernel/proc.h"
#include "kernel/schedule.h"

bool keeper_may_hurry(struct keeper *k)
{
	if (!k->first && !k->never_first && !k->may_be_first) {
		k->may_be_first = keeper_hurry(k, true);
		keeper_hurry(k, false);
	}
	return !k->never_first;
}

/* Once: who steps back from the first place asks for them again. */
void keeper_short_turns(struct keeper *k)
{
	if (!k->short_turns)
		schedule_short_turns();
	k->short_turns = true;
}

bool keeper_hurry(struct keeper *k, bool hurry)
{
	if (hurry != k->first && !k->never_first) {
		int result = schedule_first(hurry);
		k->never_first = result < 0;
		k->first = result < 0 ? k->first : hurry;
	}
	return !k->never_first;
}

/* One for all runs: else none would be left. The scheduler finds us there, since nobody else is. */
int keeper_own_core(struct keeper *k)
{
	if (k->own_core == 0)
		k->own_core = schedule_own_core() + 1;
	return k->own_core - 1;
}

bool keeper_has_no_run(const struct keeper *k)
{
	return k->count == 0 && !k->listener;
}

bool keeper_has_one_run(const struct keeper *k)
{
	return k->count == 1 && !k->listener;
}

bool keeper_is_first(const struct keeper *k)
{
	return k->first;
}

int keeper_proc(struct keeper *k)
{
	if (k->proc < 0)
		k->proc = proc_open();
	return k->proc;
}
