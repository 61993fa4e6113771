/* Control groups: can groups be made below our own, and what do they give? */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static void report(struct probe_result *r, int version, const char *type, const char *absent)
{
	struct cgroup_versions found;
	char parts[128];
	cgroup_try(&found);
	if (list_parts(&found, version, parts, sizeof parts) > 0) {
		probe_works(r, "groups can be made below this one: %s", parts);
	} else if (!mounted(type)) {
		probe_absent(r, 0, absent);
	} else if (list_parts(&found, 3 - version, parts, sizeof parts) > 0) {
		probe_absent(r, 0, "the other version gives what there is");
	} else {
		probe_absent(r, EACCES, "make a group below this one");
		probe_remedy(r, "systemd-run --user --scope -p Delegate=yes cordon …");
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
