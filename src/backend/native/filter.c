/* The system call filters, and with them the network: Landlock knows TCP ports only, so that sockets are closed by family. */
#include "backend/native/native.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/scope.h"
#include "base/str.h"
#include "kernel/notify.h"
#include "kernel/path_calls.h"
#include "kernel/seccomp.h"
#include "kernel/seccomp_oci.h"

static const enum seccomp_patch network[] = { SECCOMP_PATCH_INET, SECCOMP_PATCH_NETLINK };

static bool is_open(const struct native *n, enum seccomp_patch point)
{
	for (size_t i = 0; native_has_sockets(n) && i < COUNT_OF(network); i++)
		if (network[i] == point)
			return true;
	return false;
}

static int open_network(struct native *n, struct sock_filter *copy, enum seccomp_builtin which, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(network); i++) {
		if (seccomp_patch(copy, which, network[i], SECCOMP_VERDICT_ALLOW) == 0)
			continue;
		err_set(n->e, ERR_UNSUPPORTED, 0, "seccomp", "allowNetwork: the filter \"%s\" makes no sockets at all", name);
		return err_hint(n->e, -ENOTSUP, "use seccompProfile \"default\", or no network");
	}
	return 0;
}

/* A program under construction: what tells. */
struct heard {
	struct sock_filter insns[BPF_MAXINSNS];
	size_t count;
};

/* The filter, and the same with its refusals told instead of given. */
static int add_builtin(struct native *n, enum seccomp_builtin which, const char *name, struct heard *ret)
{
	const struct seccomp_program *program = seccomp_builtin(which);
	size_t size = program->count * sizeof *program->insns;
	autoclean(free_done) struct sock_filter *copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, program->insns, size);
	/* As it was built it is part of the program, and needs no copy. */
	struct blob plain = { program->insns, size };
	if (native_has_sockets(n)) {
		TRY(open_network(n, copy, which, name));
		plain.data = plan_bytes(n->plan, copy, size);
	}
	for (enum seccomp_patch point = 0; point < SECCOMP_PATCH_COUNT; point++)
		if (!is_open(n, point))
			seccomp_patch(copy, which, point, SECCOMP_VERDICT_NOTIFY); /* a point that it does not have is none */
	memcpy(ret->insns, copy, size);
	ret->count = program->count;
	if (n->job->trace) {
		int count = path_calls_trace(copy, program->count, ret->insns, COUNT_OF(ret->insns));
		if (count < 0)
			return err_set(n->e, ERR_INTERNAL, -count, "seccomp", "no room to trace in the filter \"%s\"", name);
		ret->count = (size_t)count;
	}
	return plan_add(n->plan, PLAN_OP(SECCOMP_HEARD, name, plain, { 0 }, n->job->trace, n->job->policy->kill_on_violation));
}

/* What the command does once the filter is in force, and before anybody answers: a file that refuses it stays beside the other. */
static const int first_calls[] = { SYS_execve, SYS_exit_group, SYS_exit };

static int add_file(struct native *n, const char *path, struct heard *heard)
{
	autoclean(buf_done) struct buf program = BUF_MAX(sizeof(struct sock_filter) * BPF_MAXINSNS);
	autoclean(free_done) struct heard *joined = malloc(sizeof *joined);
	if (!joined)
		return -ENOMEM;
	TRY(seccomp_from_oci(path, &program, n->e));
	struct blob blob = { plan_bytes(n->plan, program.data, program.size), program.size };
	size_t count = program.size / sizeof(struct sock_filter);
	int length = seccomp_join_heard(blob.data, count, heard->insns, heard->count, joined->insns, COUNT_OF(joined->insns));
	bool join = length > 0 && notify_passes_all(blob.data, count, first_calls, COUNT_OF(first_calls));
	if (join) {
		joined->count = (size_t)length;
		*heard = *joined;
	}
	return plan_add(n->plan, PLAN_OP(SECCOMP, plan_text(n->plan, "%s", path), blob, join));
}

static int set_heard(struct native *n, const struct heard *heard)
{
	size_t size = heard->count * sizeof *heard->insns;
	const void *bytes = plan_bytes(n->plan, heard->insns, size);
	for (size_t i = 0; bytes && i < n->plan->op_count; i++)
		if (n->plan->ops[i].kind == OP_SECCOMP_HEARD)
			n->plan->ops[i].u.SECCOMP_HEARD.heard = (struct blob){ bytes, size };
	return bytes ? 0 : -ENOMEM;
}

/* Files come on top of `default`: they can only narrow. */
int native_add_filter(struct native *n)
{
	const struct strv *names = &n->job->policy->seccomp;
	if (names->n == 0) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "seccompProfile",
			"seccompProfile \"none\": at process level the filter is what closes sockets and set-user-ID modes");
		return err_hint(n->e, -ENOTSUP, "use \"default\"");
	}
	/* The built-in one first: a file may forbid the installation of another filter, ours does not. */
	bool strict = strv_has(names, "strict");
	autoclean(free_done) struct heard *heard = malloc(sizeof *heard); /* large, and mostly unused: not to be touched */
	if (!heard)
		return -ENOMEM;
	TRY(add_builtin(n, strict ? SECCOMP_BUILTIN_STRICT : SECCOMP_BUILTIN_DEFAULT, strict ? "strict" : "default", heard));
	for (size_t i = 0; i < names->n; i++)
		if (!str_equal(names->v[i], "strict") && !str_equal(names->v[i], "default"))
			TRY(add_file(n, names->v[i], heard));
	return set_heard(n, heard);
}

int native_claim_filter(struct native *n)
{
	const struct policy *p = n->job->policy;
	bool ports = n->job->facts->landlock_abi >= 4;
	const char *closed =
		ports ? "seccomp: no sockets but socketpair; Landlock: no TCP port" : "seccomp: no sockets but socketpair";
	static const char own[] =
		"a network namespace with a loop-back only; seccomp: INET and INET6 sockets, other families stay closed";
	static const char all[] = "seccomp: INET and INET6 sockets, every host; other families stay closed";
	TRY(native_claim(n, FIELD_NETWORK, p->allow_network ? "true" : "false",
			 native_has_own_network(n) ? own
			 : p->allow_network        ? all
						   : closed,
			 STRENGTH_KERNEL));
	autoclean(buf_done) struct buf names = BUF_MAX(8192);
	for (size_t i = 0; i < p->seccomp.n; i++)
		buf_add_format(&names, "%s%s", i ? " " : "", p->seccomp.v[i]);
	TRY(native_claim(n, FIELD_SECCOMP, plan_text(n->plan, "%s", buf_text(&names)), "seccomp filter", STRENGTH_KERNEL));
	if (p->kill_on_violation)
		TRY(native_claim(n, FIELD_KILL_ON_VIOLATION, "true",
				 "seccomp user notification: the keeper ends the run; without it nothing is run",
				 STRENGTH_SUPERVISOR));
	if (n->job->trace)
		TRY(plan_claim(n->plan, (struct claim){ "tracing", "reported",
							"the keeper looks into the memory of callers, for reports only",
							STRENGTH_SUPERVISOR }));
	/* No clause of a policy, but a promise, as is the one above: the engine takes them back where nobody could listen or look.
	 */
	return plan_claim(n->plan, (struct claim){ "denials", "reported", "seccomp user notification, answered by the keeper",
						   STRENGTH_SUPERVISOR });
}
