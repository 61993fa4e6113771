#include "backend/backend.h"

#include <errno.h>

#include "backend/native/native.h"
#include "base/scope.h"

struct backend {
	const char *name;
	enum policy_level level;
	int (*compile)(const struct backend_job *job, struct plan *ret, struct err *e);
	const char *refusal; /* why there is no compile here */
	const char *hint;
};

/* The best that a level has comes first. */
static const struct backend backends[] = {
	{ "native", LEVEL_PROCESS, native_process_compile, NULL, NULL },
	{ "none", LEVEL_NONE, NULL, "running without a sandbox needs a person's recorded consent, which this version cannot take",
	  "use --isolation process, and grant what the command needs with --read, --write and --allow-network" },
	{ "native", LEVEL_CONTAINER, NULL, "this version has no container level",
	  "use --isolation process: Landlock and seccomp, without a private root" },
	{ "vm", LEVEL_VM, NULL, "this version has no vm level", "use --isolation process" },
	{ "wasm", LEVEL_WASM, NULL, "this version has no wasm level", "use --isolation process" },
};

bool backend_spare(const struct kernel_facts *facts, struct plan_spare *ret)
{
	return native_spare(facts, ret);
}

int backend_amend(struct plan *plan, const struct backend_held *held)
{
	return native_amend_limits(plan, held);
}

int backend_compile(const struct backend_job *job, struct plan *ret, struct err *e)
{
	const struct backend *refused = NULL;
	for (size_t i = 0; i < COUNT_OF(backends); i++) {
		const struct backend *b = &backends[i];
		if (b->level != job->policy->level)
			continue;
		if (!b->compile) {
			refused = b;
			continue;
		}
		autoclean(plan_done) struct plan plan = { 0 };
		plan.backend = b->name;
		plan.level = policy_level_name(b->level);
		TRY(b->compile(job, &plan, e));
		TRY(plan_check(&plan, e));
		*ret = plan;
		plan = (struct plan){ 0 };
		return 0;
	}
	err_set(e, ERR_UNSUPPORTED, 0, "backend", "isolation level \"%s\": %s", policy_level_name(job->policy->level),
		refused ? refused->refusal : "no backend");
	return err_hint(e, -ENOTSUP, "%s", refused ? refused->hint : "use --isolation process");
}
