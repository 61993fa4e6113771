/* What a control group has used. */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"
#include "kernel/cgroup.h"
#include "kernel/cgroup_files.h"
#include "kernel/raw.h"

/* The files of each version, and the key in them; "" is a file that is one number. */
static const struct {
	const char *charged, *peak, *failed, *failed_key, *oom, *oom_key, *cpu, *cpu_key;
	uint64_t cpu_per_us;
} files[] = {
	[1] = { "memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt", "", "memory.oom_control", "oom_kill",
		"cpuacct.usage", "", 1000 },
	[2] = { "memory.current", "memory.peak", "memory.events", "max", "memory.events", "oom_kill", "cpu.stat", "usage_usec", 1 },
};

static uint64_t held_bytes(const struct cgroup *group)
{
	bool v1 = group->version[CGROUP_MEMORY] == 1;
	int dir = group->dir[CGROUP_MEMORY];
	char stat[8192];
	if (cgroup_read_file(dir, "memory.stat", stat, sizeof stat) < 0)
		return 0;
	uint64_t swap = v1 ? cgroup_number(stat, "swap") : cgroup_read_number(dir, "memory.swap.current", "");
	return cgroup_number(stat, v1 ? "rss" : "anon") + cgroup_number(stat, "shmem") + swap;
}

static void read_memory(const struct cgroup *group, const struct cgroup_mark *since, struct cgroup_usage *ret)
{
	int version = group->version[CGROUP_MEMORY], dir = group->dir[CGROUP_MEMORY];
	if (!version)
		return;
	ret->memory_bytes = held_bytes(group);
	ret->oom_kills = cgroup_read_number(dir, files[version].oom, files[version].oom_key);
	/* The highest that was charged, without what is charged besides now; meaningless once something had to be given back, or if
	 * somebody before was higher. */
	uint64_t failed = cgroup_read_number(dir, files[version].failed, files[version].failed_key);
	uint64_t peak = cgroup_read_number(dir, files[version].peak, "");
	uint64_t now = cgroup_read_number(dir, files[version].charged, "");
	uint64_t besides = now > ret->memory_bytes ? now - ret->memory_bytes : 0;
	if (failed == since->failed && peak > besides && peak > since->peak_bytes)
		ret->peak_bytes = peak - besides;
}

void cgroup_usage(const struct cgroup *group, const struct cgroup_mark *since, struct cgroup_usage *ret)
{
	static const struct cgroup_mark from_new = { 0 };
	int version = group->version[CGROUP_CPU];
	since = since ? since : &from_new;
	*ret = (struct cgroup_usage){ 0 };
	read_memory(group, since, ret);
	if (version)
		ret->cpu_us = cgroup_read_number(group->dir[CGROUP_CPU], files[version].cpu, files[version].cpu_key) /
				      files[version].cpu_per_us -
			      since->cpu_us;
	if (group->version[CGROUP_PIDS])
		ret->tasks = cgroup_read_number(group->dir[CGROUP_PIDS], "pids.current", "");
}

/* ---- one run after the other ---- */
static int open_gauge(int dir, const char *name, int flags)
{
	int fd = RAW(openat, dir, name, flags | O_CLOEXEC);
	return fd < 0 ? -1 : fd;
}

void cgroup_gauges_open(const struct cgroup *group, struct cgroup_gauges *ret)
{
	int memory = group->version[CGROUP_MEMORY], cpu = group->version[CGROUP_CPU], dir = group->dir[CGROUP_MEMORY];
	*ret = CGROUP_NO_GAUGES;
	ret->memory_version = memory;
	ret->cpu_version = cpu;
	if (cpu)
		ret->cpu = open_gauge(group->dir[CGROUP_CPU], files[cpu].cpu, O_RDONLY);
	if (!memory)
		return;
	ret->charged = open_gauge(dir, files[memory].charged, O_RDONLY);
	ret->failed = open_gauge(dir, files[memory].failed, O_RDONLY);
	/* Not every kernel lets it begin anew, or has it. */
	ret->peak = open_gauge(dir, files[memory].peak, O_RDWR);
	if (ret->peak < 0)
		ret->peak = open_gauge(dir, files[memory].peak, O_RDONLY);
}

void cgroup_gauges_done(struct cgroup_gauges *gauges)
{
	int *all[] = { &gauges->cpu, &gauges->charged, &gauges->failed, &gauges->peak };
	for (size_t i = 0; i < COUNT_OF(all); i++)
		raw_close(all[i]);
}

static uint64_t ask(int fd, const char *key)
{
	char text[1024];
	int got = fd < 0 ? -1 : RAW(pread64, fd, text, sizeof text - 1, 0);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	return cgroup_number(text, key);
}

uint64_t cgroup_gauge_cpu_us(const struct cgroup_gauges *g)
{
	return g->cpu_version ? ask(g->cpu, files[g->cpu_version].cpu_key) / files[g->cpu_version].cpu_per_us : 0;
}

bool cgroup_gauge_ran_out(const struct cgroup_gauges *g)
{
	return g->memory_version == 2 && ask(g->failed, files[2].oom_key) > 0;
}

void cgroup_gauges_mark(const struct cgroup_gauges *g, struct cgroup_mark *ret)
{
	*ret = (struct cgroup_mark){ .cpu_us = cgroup_gauge_cpu_us(g) };
	if (!g->memory_version)
		return;
	ret->charged_bytes = ask(g->charged, "");
	ret->failed = ask(g->failed, files[g->memory_version].failed_key);
	/* In version 2 it begins anew for whoever reads by this descriptor, only: the highest of all is what cgroup_usage() sees.
	 */
	bool anew = g->memory_version == 1 && g->peak >= 0 && RAW(pwrite64, g->peak, "0", 1, 0) == 1;
	ret->peak_bytes = anew ? 0 : ask(g->peak, "");
}

uint64_t cgroup_held_bytes(const struct cgroup *group)
{
	return group->version[CGROUP_MEMORY] ? held_bytes(group) : 0;
}
