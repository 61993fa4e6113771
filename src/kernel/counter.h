/* A clock of the kernel's (a perf software counter) that adds up the processor time of a thread and of everybody who descends from
 * it after it was opened, also of who is gone and for whom nobody has waited. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A descriptor; 0 is the calling thread. The first counter that a machine has in a while takes the kernel some 15 ms, in which it
 * changes its scheduler; as long as there is another one, and a second after it, 15 µs. */
int counter_open(pid_t thread);
int counter_read_us(int counter, uint64_t *ret);
