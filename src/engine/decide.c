/* The deciding half of the spine: request → policy → verdict → plan. Changes nothing but cordon's own directories. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/scope.h"
#include "engine/internal.h"
#include "guard/words.h"

void decision_done(struct decision *d)
{
	policy_done(&d->policy);
	plan_done(&d->plan);
	strv_done(&d->notes);
}

void make_id(char id[24])
{
	unsigned char bytes[8] = { 0 };
	while (getrandom(bytes, sizeof bytes, 0) < 0 && errno == EINTR)
		;
	static const char digits[] = "0123456789abcdef";
	char *at = stpcpy(id, "sbx-");
	for (size_t i = 0; i < sizeof bytes; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	*at = '\0';
}

/* The estimator looks at the first simple command of a shell line. */
static void estimate(const struct request *request, struct estimate *ret)
{
	if (!request->shell) {
		policy_estimate(&request->argv, ret);
		return;
	}
	autoclean(strv_done) struct strv first = { 0 };
	struct err ignored = { 0 }; /* a line that cannot be read is refused by the guard, with a better message */
	if (words_first_command(request->argv.v[0], &first, &ignored) < 0)
		strv_done(&first);
	policy_estimate(&first, ret);
}

/* The caller's layer, with the estimate where the caller states no limit of its own. Everything in it is the request's. */
static struct policy flags_layer(const struct request *request)
{
	struct policy flags = request->flags;
	struct estimate guess = { 0 };
	if (request->estimate)
		estimate(request, &guess);
	const struct {
		enum policy_limit limit;
		int64_t value;
	} rows[] = {
		{ LIMIT_MEMORY_MB, guess.memory_mb },
		{ LIMIT_CPU_SECONDS, guess.cpu_seconds },
		{ LIMIT_TIMEOUT_MS, guess.timeout_ms },
	};
	for (size_t i = 0; request->estimate && i < COUNT_OF(rows); i++) {
		if (flags.set & POLICY_SET_LIMIT(rows[i].limit))
			continue;
		flags.set |= POLICY_SET_LIMIT(rows[i].limit);
		flags.limits[rows[i].limit] = rows[i].value;
	}
	return flags;
}

static int resolve_policy(const struct engine *engine, const struct request *request, const struct policy *flags,
			  struct path_memo *seen, struct decision *d, struct err *e)
{
	char space[256];
	autoclean(free_done) char *longer = NULL;
	const char *cwd = getcwd(space, sizeof space);
	if (!cwd && errno == ERANGE)
		cwd = longer = getcwd(NULL, 0);
	if (!cwd && flags->working_directory && flags->working_directory[0] == '/')
		cwd = flags->working_directory; /* the current one is gone, and not needed */
	if (!cwd) {
		err_set(e, ERR_IO, errno, "workingDirectory", "cannot tell the current directory");
		return err_hint(e, -EIO, "change to a directory that exists, or use --cwd DIR");
	}
	/* The kernel names it without links: remembered as it is, it need not be walked to. */
	struct path_look look;
	if (cwd[0] == '/')
		(void)path_look(seen, cwd, &look);
	struct policy_place place = { .cwd = cwd, .home = getenv("HOME") };
	struct policy_sources sources = {
		.place = &place,
		.admin_file = engine->admin_file,
		.user_file = engine->user_file,
		.profiles = &request->profiles,
		.flags = flags,
		.whole = request->whole,
		.project_start = engine->no_projects        ? NULL
				 : flags->working_directory ? flags->working_directory
							    : cwd,
		.seen = seen,
	};
	return policy_resolve(&sources, &d->policy, &d->notes, e);
}

static int compile(const struct decision *d, const struct command *command, const struct kernel_facts *facts, const char *id,
		   size_t named_fds, struct path_memo *seen, struct plan *ret, struct err *e)
{
	struct backend_job job = {
		.policy = &d->policy,
		.facts = facts,
		.named_read = &command->named_read,
		.named_write = &command->named_write,
		.home = command->home,
		.id = id,
		.program = command->program,
		.argv = &command->argv,
		.env = &command->env,
		.scratch_base = command->scratch_base,
		.scratch_name = command->scratch_name[0] ? command->scratch_name : NULL,
		.parking_name = command->parking_name[0] ? command->parking_name : NULL,
		.cow = command->cow,
		.rootfs = command->rootfs,
		.rootfs_named = command->rootfs_named,
		.named_fds = named_fds,
		.trace = command->trace,
		.publish = command->publish,
		.publish_count = command->publish_count,
		.traffic = command->traffic,
		.seen = seen,
		.drain_ms = command->drain_ms,
	};
	return backend_compile(&job, ret, e);
}

int decide_plan(const struct decision *d, const struct command *command, const struct kernel_facts *facts, const char *id,
		size_t named_fds, struct plan *ret, struct err *e)
{
	return compile(d, command, facts, id, named_fds, NULL, ret, e);
}

int decide(struct engine *engine, const struct request *request, const struct kernel_facts *facts, const char *id,
	   const char *place, struct decision *ret, struct command *ret_command, struct err *e)
{
	if (request->argv.n == 0 || !request->argv.v[0][0]) {
		err_set(e, ERR_USAGE, 0, "command", "no command to run");
		return err_hint(e, -EINVAL, "put it after --, as in: cordon run -- ls -l");
	}
	autoclean(decision_done) struct decision d = { 0 };
	const struct policy flags = flags_layer(request);
	autoclean(command_done) struct command command = { 0 };
	autoclean(path_memo_done) struct path_memo own = { 0 };
	struct path_memo *seen = request->seen ? request->seen : &own;
	TRY(resolve_policy(engine, request, &flags, seen, &d, e));
	TRY(own_files_deny(engine, request, &d.policy, seen, e));
	struct policy_view guarded;
	rootfs_guarded(request, &d.policy, &guarded);
	if (!request->guard_off)
		TRY(guard_judge(&guarded.policy, getenv("HOME"), &request->argv, request->shell, &d.verdict, e));
	if (d.verdict.result == GUARD_ALLOW && !request->judge_only) {
		TRY(command_prepare(request, &d.policy, id, seen, &command, e));
		if (place)
			snprintf(command.scratch_name, sizeof command.scratch_name, "%s", place);
		if (engine->places[0])
			snprintf(command.parking_name, sizeof command.parking_name, "%s-names", engine->places);
		TRY(cow_prepare(request, &command, e));
		command.drain_ms = request->drain_ms;
		memcpy(command.publish, request->publish, sizeof command.publish);
		command.publish_count = request->publish_count;
		command.traffic = request->traffic;
		command.trace = request->trace_uses      ? PLAN_TRACE_USED
				: request->trace_denials ? PLAN_TRACE_REFUSED
							 : PLAN_TRACE_NOTHING;
		/* The run may become somebody who cannot go where the caller can; and what is protected may be asked for by name.
		 */
		if (d.policy.level >= LEVEL_AUTO)
			TRY(command_resolve_home(seen, &command, e));
		if ((facts->set_ids || d.policy.level >= LEVEL_AUTO) && !request->from_file)
			TRY(command_resolve_named(request, &d.policy, seen, &command, e));
		TRY(compile(&d, &command, facts, id, request->keep_fds.n, seen, &d.plan, e));
	}
	*ret = d;
	d = (struct decision){ 0 };
	*ret_command = command;
	command = (struct command){ 0 };
	return 0;
}
