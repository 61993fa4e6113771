#include "policy/fields.h"

#include <errno.h>
#include <string.h>

#include "base/scope.h"
#include "base/str.h"

enum { PROFILE_PATHS = 4 }; /* entries of one list of a profile, with the NULL behind them */

struct profile {
	const char *name;
	enum policy_level level;
	bool network;
	const char *read[PROFILE_PATHS], *write[PROFILE_PATHS], *denied[PROFILE_PATHS];
	int64_t id;
	bool read_only_root;
	const char *seccomp;
	int64_t limits[LIMIT_COUNT];
	const char *summary;
};

#define LIST(...)                                                                                                                  \
	{                                                                                                                          \
		__VA_ARGS__                                                                                                        \
	}
#define READ LIST
#define WRITE LIST
#define DENIED LIST
static const struct profile profiles[] = {
#define PROFILE(name, level, network, read, write, denied, id, read_only_root, seccomp, cpu, memory, disk, timeout, processes,     \
		descriptors, output, summary)                                                                                      \
	{ name,    level,                                                                                                          \
	  network, read,                                                                                                           \
	  write,   denied,                                                                                                         \
	  id,      read_only_root,                                                                                                 \
	  seccomp, { cpu, memory, disk, timeout, processes, descriptors, output, POLICY_UNLIMITED, POLICY_UNLIMITED },             \
	  summary },
#include "policy/profiles.def"
#undef PROFILE
};

size_t policy_profile_count(void)
{
	return COUNT_OF(profiles);
}

const char *policy_profile_name(size_t index)
{
	return index < COUNT_OF(profiles) ? profiles[index].name : NULL;
}

const char *policy_profile_summary(size_t index)
{
	return index < COUNT_OF(profiles) ? profiles[index].summary : NULL;
}

static const struct profile *find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(profiles); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}

static int unknown(const char *name, struct err *e)
{
	const char *names[COUNT_OF(profiles)];
	for (size_t i = 0; i < COUNT_OF(profiles); i++)
		names[i] = profiles[i].name;
	err_set(e, ERR_USAGE, 0, "policy", "unknown profile \"%s\"", name);
	const char *nearest = str_nearest(name, names, COUNT_OF(names));
	if (nearest)
		return err_hint(e, -EINVAL, "did you mean \"%s\"? A file has a / in its name or ends in .json", nearest);
	return err_hint(e, -EINVAL, "\"cordon profiles\" lists them; a file has a / in its name or ends in .json");
}

static int add_all(struct strv *to, const char *const *paths)
{
	for (size_t i = 0; i < PROFILE_PATHS && paths[i]; i++)
		TRY(strv_add(to, paths[i]));
	return 0;
}

/* Every field but these: which commands (all of them), the working directory (the caller's), and processors (all of them). */
#define PROFILE_LEAVES                                                                                                             \
	(POLICY_BIT(FIELD_ALLOWED_COMMANDS) | POLICY_BIT(FIELD_CWD) | POLICY_SET_LIMIT(LIMIT_CORES) |                              \
	 POLICY_SET_LIMIT(LIMIT_CPU_WEIGHT))
#define PROFILE_SETS ((POLICY_BIT(FIELD_COUNT) - 1) & ~PROFILE_LEAVES)

int policy_profile(const char *name, struct policy *ret, struct err *e)
{
	const struct profile *from = find(name);
	if (!from)
		return unknown(name, e);
	autoclean(policy_done) struct policy p = {
		.set = PROFILE_SETS,
		.level = from->level,
		.allow_network = from->network,
		.drop_capabilities = true,
		.run_as_non_root = true,
		.user_id = from->id,
		.group_id = from->id,
		.read_only_root = from->read_only_root,
		.no_new_privileges = true,
	};
	memcpy(p.limits, from->limits, sizeof p.limits);
	if (add_all(&p.read_paths, from->read) < 0 || add_all(&p.write_paths, from->write) < 0 ||
	    add_all(&p.denied_paths, from->denied) < 0 || strv_add(&p.seccomp, from->seccomp) < 0)
		return err_nomem(e);
	*ret = p;
	p = (struct policy){ 0 };
	return 0;
}
