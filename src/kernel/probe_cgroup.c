/* Control groups: can groups be made below our own, and with which controllers? */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "kernel/probe_kit.h"
#include "kernel/raw.h"

/* The text up to one of `ends` or the end of the line; *line goes behind it. */
static void next_field(const char **line, const char *ends, char *out, size_t size)
{
	size_t length = 0;
	while ((*line)[length] && (*line)[length] != '\n' && !strchr(ends, (*line)[length]))
		length++;
	snprintf(out, size, "%.*s", (int)length, *line);
	*line += length + ((*line)[length] && (*line)[length] != '\n');
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');
	return end ? end + 1 : line + strlen(line);
}

/* Is the word in a list with commas? */
static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, word, length) == 0 && (p[length] == '\0' || p[length] == ','))
			return true;
	return false;
}

/* Where a hierarchy of this type is mounted, by /proc/self/mounts ("what where type options 0 0"). The options of version 1
 * name its controllers; version 2 has none to name. */
static bool find_hierarchy(const char *mounts, const char *type, const char *controller, char *out, size_t size)
{
	for (const char *line = mounts; *line; line = next_line(line)) {
		char where[256], kind[32], options[256];
		next_field(&line, " ", where, sizeof where);
		next_field(&line, " ", where, sizeof where);
		next_field(&line, " ", kind, sizeof kind);
		next_field(&line, " ", options, sizeof options);
		if (strcmp(kind, type) != 0 || (controller && !lists(options, controller)))
			continue;
		snprintf(out, size, "%s", where);
		return true;
	}
	return false;
}

/* Our place in it, by /proc/self/cgroup: "0::/path" for version 2, "7:cpu,cpuacct:/path" for version 1. */
static bool find_place(const char *groups, const char *controller, char *out, size_t size)
{
	for (const char *line = groups; *line; line = next_line(line)) {
		char number[16], names[128], path[256];
		next_field(&line, ":", number, sizeof number);
		next_field(&line, ":", names, sizeof names);
		next_field(&line, "", path, sizeof path);
		if (controller ? !lists(names, controller) : strcmp(number, "0") != 0 || names[0])
			continue;
		snprintf(out, size, "%s", strcmp(path, "/") == 0 ? "" : path);
		return true;
	}
	return false;
}

static int try_group(const char *place)
{
	char path[640];
	snprintf(path, sizeof path, "%s/cordon-probe-%d", place, getpid());
	TRY(raw_result(mkdir(path, 0755)));
	return raw_result(rmdir(path));
}

/* The directory of our own group: -ENOENT when there is no such hierarchy. */
static int own_group(const char *type, const char *controller, char out[512])
{
	char mounts[16384], groups[4096], where[256], place[256];
	if (!probe_read("/proc/self/mounts", mounts, sizeof mounts) || !probe_read("/proc/self/cgroup", groups, sizeof groups) ||
	    !find_hierarchy(mounts, type, controller, where, sizeof where) || !find_place(groups, controller, place, sizeof place))
		return -ENOENT;
	snprintf(out, 512, "%s%s", where, place);
	return 0;
}

void probe_cgroup_v2(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	char place[512], file[640], controllers[128] = "";
	if (!probe_must_work(r, own_group("cgroup2", NULL, place), "find the unified hierarchy"))
		return;
	int result = try_group(place);
	if (!probe_must_work(r, result, "make a group below this one")) {
		probe_remedy(r, "systemd-run --user --scope -p Delegate=yes cordon …");
		return;
	}
	snprintf(file, sizeof file, "%s/cgroup.controllers", place);
	probe_read(file, controllers, sizeof controllers);
	bool limits = strstr(controllers, "memory") && strstr(controllers, "pids");
	probe_works(r, "groups can be made; %s (controllers: %s)", limits ? "limits and kill" : "kill and freeze only, no limits",
		    controllers[0] ? controllers : "none");
	if (!limits)
		probe_remedy(r, "boot with cgroup_no_v1=all, or delegate the memory and pids controllers");
}

void probe_cgroup_v1(const struct probe_ground *ground, struct probe_result *r)
{
	(void)ground;
	static const char *const controllers[] = { "memory", "pids", "cpu", "freezer" };
	char place[512], good[64] = "";
	int last = -ENOENT;
	for (size_t i = 0; i < COUNT_OF(controllers); i++) {
		int result = own_group("cgroup", controllers[i], place);
		if (result == 0)
			result = try_group(place);
		size_t used = strlen(good);
		if (result == 0)
			snprintf(good + used, sizeof good - used, " %s", controllers[i]);
		else if (result != -ENOENT)
			last = result;
	}
	if (good[0])
		probe_works(r, "groups can be made:%s", good);
	else if (last == -ENOENT)
		probe_absent(r, 0, "no such controllers; version 2 is the successor");
	else
		probe_absent(r, -last, "make a group below this one");
}
