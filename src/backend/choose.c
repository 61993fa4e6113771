#include "backend/backend.h"

#include <errno.h>

#include "backend/native/native.h"
#include "base/scope.h"

struct backend {
	const char *name;
	enum policy_level level; /* that is asked for */
	enum policy_level gives;
	int (*compile)(const struct backend_job *job, struct plan *ret, struct err *e);
	bool (*spare)(const struct kernel_facts *facts, struct plan_spare *ret);
	const char *refusal; /* why there is no compile here */
	const char *hint;
};

/* The best that a level has comes first; the next one is tried where the host does not give it. */
static const struct backend backends[] = {
	{ "native", LEVEL_PROCESS, LEVEL_PROCESS, native_process_compile, native_process_spare, NULL, NULL },
	{ "native", LEVEL_AUTO, LEVEL_CONTAINER, native_container_compile, native_container_spare, NULL, NULL },
	{ "native", LEVEL_AUTO, LEVEL_PROCESS, native_process_compile, native_process_spare, NULL, NULL },
	{ "native", LEVEL_CONTAINER, LEVEL_CONTAINER, native_container_compile, native_container_spare, NULL, NULL },
	{ "none", LEVEL_NONE, LEVEL_NONE, NULL, NULL,
	  "running without a sandbox needs a person's recorded consent, which this version cannot take",
	  "use --isolation process, and grant what the command needs with --read, --write and --allow-network" },
	{ "vm", LEVEL_VM, LEVEL_VM, NULL, NULL, "this version has no vm level", "use --isolation container" },
	{ "wasm", LEVEL_WASM, LEVEL_WASM, NULL, NULL, "this version has no wasm level", "use --isolation container" },
};

bool backend_spare(const struct kernel_facts *facts, enum policy_level level, struct plan_spare *ret)
{
	for (size_t i = 0; i < COUNT_OF(backends); i++)
		if (backends[i].level == level && backends[i].spare && backends[i].spare(facts, ret))
			return true;
	return false;
}

int backend_amend(struct plan *plan, const struct backend_held *held)
{
	return native_amend_limits(plan, held);
}

static int compile(const struct backend *b, const struct backend_job *job, struct plan *ret, struct err *e)
{
	autoclean(plan_done) struct plan plan = { 0 };
	plan.backend = b->name;
	plan.level = policy_level_name(b->gives);
	TRY(b->compile(job, &plan, e));
	TRY(plan_check(&plan, e));
	*ret = plan;
	plan = (struct plan){ 0 };
	return 0;
}

int backend_compile(const struct backend_job *job, struct plan *ret, struct err *e)
{
	const struct backend *refused = NULL;
	int result = -ENOTSUP;
	for (size_t i = 0; i < COUNT_OF(backends); i++) {
		const struct backend *b = &backends[i];
		if (b->level != job->policy->level)
			continue;
		if (!b->compile) {
			refused = b;
			continue;
		}
		if (result != -ENOTSUP)
			break; /* what the host gives is not what was wrong */
		*e = (struct err){ 0 };
		result = compile(b, job, ret, e);
		if (result >= 0)
			return result;
	}
	if (!refused)
		return result;
	err_set(e, ERR_UNSUPPORTED, 0, "backend", "isolation level \"%s\": %s", policy_level_name(job->policy->level),
		refused->refusal);
	return err_hint(e, -ENOTSUP, "%s", refused->hint);
}
