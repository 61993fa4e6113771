/* Control groups: can groups be made below our own, and what do they give? */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/cgroup.h"
#include "kernel/probe_kit.h"

static const char *const words[CGROUP_PARTS] = {
	[CGROUP_MEMORY] = "memory",       [CGROUP_PIDS] = "processes",
	[CGROUP_CPU] = "CPU time",        [CGROUP_SHARE] = "cores and their share",
	[CGROUP_END] = "freeze and kill",
};

/* What groups of this version give, as words; how many things. */
static int list_parts(const struct cgroup_versions *found, int version, char *out, size_t size)
{
	int count = 0;
	out[0] = '\0';
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (found->part[i] == version) {
			size_t used = strlen(out);
			snprintf(out + used, size - used, "%s%s", count++ ? ", " : "", words[i]);
		}
	return count;
}

static bool mounted(const char *type)
{
	char mounts[16384];
	return probe_read("/proc/self/mounts", mounts, sizeof mounts) && strstr(mounts, type);
}

static const char *own_group(void)
{
	return geteuid() == 0 ? "systemd-run --scope -p Delegate=yes cordon …"
			      : "systemd-run --user --scope -p Delegate=yes cordon …";
}

/* The controllers are there, but for somebody who shares our group. */
static void report_other(struct probe_result *r, const struct cgroup_versions *found)
{
	char path[48], name[17] = "", parts[64];
	snprintf(path, sizeof path, "/proc/%d/comm", found->other);
	probe_read(path, name, sizeof name);
	list_parts(found, 2, parts, sizeof parts);
	probe_absent(r, 0, "");
	snprintf(r->detail, sizeof r->detail,
		 "process %d (%s) is in cordon's group, too, so the kernel gives no limits below it%s%s", found->other, name,
		 parts[0] ? "; groups give: " : "", parts);
	probe_remedy(r, "start cordon in a group of its own: %s", own_group());
}

static void report(struct probe_result *r, int version, const char *type, const char *absent)
{
	struct cgroup_versions found;
	char parts[128];
	cgroup_try(getppid(), &found); /* who asks is who would hold runs */
	if (version == 2 && found.other && !found.part[CGROUP_MEMORY]) {
		report_other(r, &found);
	} else if (list_parts(&found, version, parts, sizeof parts) > 0) {
		probe_works(r, "groups can be made below this one: %s", parts);
	} else if (!mounted(type)) {
		probe_absent(r, 0, absent);
	} else if (list_parts(&found, 3 - version, parts, sizeof parts) > 0) {
		probe_absent(r, 0, "the other version gives what there is");
	} else {
		probe_absent(r, EACCES, "make a group below this one");
		probe_remedy(r, "%s", own_group());
	}
}

void probe_cgroup_v2(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	report(r, 2, " cgroup2 ", "no such hierarchy");
}

void probe_cgroup_v1(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	report(r, 1, " cgroup ", "no such controllers; version 2 is the successor");
}
