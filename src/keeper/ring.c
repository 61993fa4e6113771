/* The end of everybody at once where there is no pid namespace: Landlock lets nobody signal who is not in its own domain, or in one
 * within. So the reaper enters a domain of its own that forbids nothing but that, and the run lives within it. "Everybody whom I
 * may signal" is the run then, whoever forks and whatever session it is in; and the kernel makes no process while it goes round.
 *
 * Should it ever not hold, the same call would reach every process of the user's, or of root's the whole machine. So it is seen to
 * hold when the domain is entered, and again before each use: the keeper, who is outside, must be out of reach. Raw system calls
 * only. */
#include "keeper/run.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kernel/landlock.h"
#include "kernel/raw.h"

static bool reaches_keeper(void)
{
	pid_t keeper = RAW0(getppid);
	return keeper <= 1 || RAW(kill, keeper, 0) != -EPERM;
}

/* The command will have no new privileges anyway: then we may do without, too. */
static bool may_give_up_privileges(const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		if (plan->ops[i].kind == OP_NO_NEW_PRIVS)
			return true;
	return false;
}

bool ring_enter(const struct plan *plan)
{
	pid_t keeper = RAW0(getppid);
	if (keeper <= 1 || RAW(kill, keeper, 0) < 0)
		return false; /* that it cannot be reached later would prove nothing */
	int ruleset = landlock_create((struct landlock_rights){ .scoped = LL_SCOPE_SIGNAL });
	if (ruleset < 0)
		return false; /* before ABI 6 */
	int result = landlock_enforce(ruleset);
	if (result == -EPERM && may_give_up_privileges(plan) && RAW(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		result = landlock_enforce(ruleset);
	raw_close(&ruleset);
	return result == 0 && !reaches_keeper();
}

bool ring_kill(const struct entry *entry)
{
	return entry->ringed && !reaches_keeper() && RAW(kill, -1, SIGKILL) != -EPERM;
}
