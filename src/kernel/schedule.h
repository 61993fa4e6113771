/* When we get our turn. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Ask for short turns: whoever takes little at a time is let in at once when it wakes, also among many that do nothing but
 * compute (Linux 6.12; before that nothing changes). No privilege is needed. Children begin as if it had not been asked. Raw. */
void schedule_short_turns(void);

/* Before everybody who has no real-time policy, or no more. -EPERM: an ordinary user may not. Children begin without it. */
int schedule_first(bool first);

/* All threads of a process off one processor, as long as they may run wherever we may; whoever chose fewer keeps its choice. And
 * back: those who were kept off may go anywhere again. What they make meanwhile is where they are. */
void schedule_keep_off(int proc, pid_t pid, int core, bool off);
int schedule_cores(void);    /* how many processors we may use */
int schedule_granted(void);  /* the same, or fewer where the group's quota, as a container sees it, is less; at least 1 */
int schedule_own_core(void); /* the one that we are on; -1: there is no other */
