/* What is known of a run when its reaper is gone: what it used, and whether a limit of the kernel's ended it. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "keeper/run.h"

#define DISK_PATIENCE_US 100000

/* What the reaper has used covers everyone it waited for, and everyone the kernel ended with it. */
static void take_usage(struct run *run, const struct rusage *u)
{
	int64_t cpu = (int64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 + u->ru_utime.tv_usec + u->ru_stime.tv_usec;
	int64_t peak = (int64_t)u->ru_maxrss * 1024;
	struct wire_usage *usage = &run->usage;
	cpu += (int64_t)run->meter.tree.lost_us;
	usage->cpu_us = cpu > usage->cpu_us ? cpu : usage->cpu_us;
	usage->peak_memory_bytes = peak > usage->peak_memory_bytes ? peak : usage->peak_memory_bytes;
	usage->disk_read_bytes = (int64_t)u->ru_inblock * 512; /* what /proc/PID/io calls read_bytes and write_bytes, in sectors */
	int64_t wrote = (int64_t)u->ru_oublock * 512;
	usage->disk_write_bytes = wrote > usage->disk_write_bytes ? wrote : usage->disk_write_bytes;
	if (usage->processes == 0 && run->started)
		usage->processes = 1;
}

/* The kernel's own limits end a process by signal. A signal proves nothing, a command can send itself any; together with what
 * was used it does. */
static void explain_signal(struct run *run)
{
	int64_t cpu_ms = run->plan.limits.cpu_ms;
	if (run->reason != KILL_NONE || !run->have_status || !WIFSIGNALED(run->wait_status))
		return;
	int signal = WTERMSIG(run->wait_status);
	if ((signal == SIGXCPU || signal == SIGKILL) && cpu_ms != PLAN_UNLIMITED && run->usage.cpu_us / 1000 >= cpu_ms)
		run->reason = KILL_CPU;
	/* Nobody else sends this one, but a command that wants to be told so. */
	if (signal == SIGSYS)
		run->reason = KILL_SECURITY;
	int64_t disk = run->plan.limits.disk_bytes;
	if (signal == SIGXFSZ && disk != PLAN_UNLIMITED && disk_look_at_end(run, DISK_PATIENCE_US) >= disk - disk / 16)
		run->reason = KILL_DISK;
}

void run_conclude(struct run *run, const struct rusage *usage)
{
	take_usage(run, usage);
	if (run->started && run->reason == KILL_NONE) { /* what was too quick to be looked at */
		meter_warn(run, KILL_MEMORY, run->usage.peak_memory_bytes, run->plan.limits.memory_bytes);
		meter_warn(run, KILL_CPU, run->usage.cpu_us / 1000, run->plan.limits.cpu_ms);
	}
	if (run->reason == KILL_NONE && group_ran_out(run))
		run->reason = KILL_MEMORY;
	explain_signal(run);
}
