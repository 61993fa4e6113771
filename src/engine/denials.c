/* What a run was refused: facts from the keeper, one of each kind, in words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"
#include "kernel/notify.h"
#include "kernel/seccomp.h"
#include "net/target.h"

/* More kinds than these are only counted: what a run can make up must not fill the host. */
#define MOST_KINDS 8192

const struct wire_denial *denials_keep(struct denials *d, const struct wire_denial *denial)
{
	struct wire_denial *more = d->n < MOST_KINDS ? reallocarray(d->v, d->n + 1, sizeof *more) : NULL;
	if (!more) {
		d->more += denial->count;
		return NULL;
	}
	d->v = more;
	d->v[d->n] = *denial;
	return &d->v[d->n++];
}

void denials_count(struct denials *d, const struct wire_heard *heard)
{
	d->more += heard->other;
	d->unseen += heard->unseen;
	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].index < heard->counts.size / sizeof d->v[i].count)
			memcpy(&d->v[i].count, (const char *)heard->counts.data + d->v[i].index * sizeof d->v[i].count,
			       sizeof d->v[i].count);
}

void denials_done(struct denials *d)
{
	free(d->v);
	*d = (struct denials){ 0 };
}

/* ---- words ---- */
enum word_kind { SYSCALL, PATH, NETWORK, PROBED };
static const char *const kinds[] = { [SYSCALL] = "syscall", [PATH] = "path", [NETWORK] = "network", [PROBED] = "network" };

/* Arrays, not pointers, which would have to be relocated whenever cordon starts. */
static const struct meaning {
	char call[20];
	unsigned argument;
	uint32_t mask, value;
	enum word_kind kind;
	char text[112], reason[112];
} meanings[] = {
#define MEANING(call, argument, mask, value, kind, meaning, reason) { #call, argument, mask, value, kind, meaning, reason },
#include "engine/denials.def"
};
#define MEANING(call_, argument, mask, value, kind, meaning_, reason_)                                                             \
	TEXT_FITS(#call_, struct meaning, call);                                                                                   \
	TEXT_FITS(meaning_, struct meaning, text);                                                                                 \
	TEXT_FITS(reason_, struct meaning, reason);
#include "engine/denials.def"

static const struct meaning *find_meaning(const char *call, const uint64_t args[6])
{
	for (size_t i = 0; i < COUNT_OF(meanings); i++)
		if (str_equal(meanings[i].call, call) &&
		    ((uint32_t)args[meanings[i].argument] & meanings[i].mask) == meanings[i].value)
			return &meanings[i];
	return NULL;
}

static const struct seccomp_row *find_row(const char *call)
{
	const struct seccomp_row *row = NULL;
	for (size_t i = 0; (row = seccomp_row_at(i)) && !str_equal(row->name, call);)
		i++;
	return row;
}

/* "why it is allowed, or refused; strict: why it is refused there" */
static void row_reason(const struct seccomp_row *row, bool strict_only, char *out, size_t size)
{
	static const char mark[] = "; strict: ";
	const char *split = strstr(row->reason, mark);
	if (split && strict_only)
		snprintf(out, size, "strict: %s", split + strlen(mark));
	else
		snprintf(out, size, "%.*s", (int)(split ? (size_t)(split - row->reason) : strlen(row->reason)), row->reason);
}

/* The smallest change that lets the filter pass it, found by asking the filters themselves; NULL: there is none. */
static const char *find_fix(const struct policy *p, bool strict, const struct wire_denial *d)
{
	const struct {
		enum seccomp_builtin filter;
		bool network;
		const char *fix;
	} ways[] = {
		{ strict ? SECCOMP_BUILTIN_STRICT : SECCOMP_BUILTIN_DEFAULT, true, "--allow-network" },
		{ SECCOMP_BUILTIN_DEFAULT, p->allow_network, "--seccomp default" },
		{ SECCOMP_BUILTIN_DEFAULT, true, "--seccomp default --allow-network" },
	};
	for (size_t i = 0; i < COUNT_OF(ways); i++)
		if (notify_would_pass(ways[i].filter, ways[i].network, d->syscall, d->args))
			return ways[i].fix;
	return NULL;
}

void denial_path(const struct wire_denial *d, char *out, size_t size)
{
	snprintf(out, size, "%s", d->path);
	char *slash = d->access & WIRE_ACCESS_MAKE ? strrchr(out, '/') : NULL;
	if (slash)
		*(slash == out ? slash + 1 : slash) = '\0';
}

/* What the proxy refused: its own words, and the entry that is missing. */
static void describe_host(const struct wire_denial *d, struct denial_words *ret)
{
	struct net_target target = { 0 };
	struct net_address address = { .family = (int)d->args[2] };
	enum net_verdict verdict = (enum net_verdict)d->args[0];
	const char *what = NULL;
	memcpy(address.bytes, &d->args[3], sizeof address.bytes);
	ret->call = NULL;
	ret->meaning = "reach a host through the proxy";
	snprintf(ret->reason, sizeof ret->reason, "%s", net_verdict_row(verdict)->text);
	target.port = (uint16_t)d->args[1];
	bool known = target_set_host(&target, d->path, strlen(d->path)) == NET_ALLOWED;
	if (!known && strchr(d->path, ':')) { /* an IPv6 address stands there without its brackets */
		char host[sizeof d->path + 2];
		snprintf(host, sizeof host, "[%s]", d->path);
		known = target_set_host(&target, host, strlen(host)) == NET_ALLOWED;
	}
	if (known)
		net_fix(verdict, &target, address.family ? &address : NULL, ret->option);
	ret->fix = ret->option[0] ? ret->option : NULL;
	if (verdict == NET_LOCAL_ADDRESS && !address_is_public(&address, &what)) {
		char text[NET_ADDRESS_TEXT];
		address_text(&address, text);
		snprintf(ret->reason, sizeof ret->reason, "its name leads to %s (%s), which allowedHosts does not name itself",
			 text, what);
	}
}

static void describe_traced(const struct policy *p, const struct wire_denial *d, struct denial_words *ret)
{
	char path[sizeof d->path], word[1024];
	if (d->access & WIRE_ACCESS_NETWORK) {
		ret->meaning = "reach an address";
		snprintf(ret->reason, sizeof ret->reason, "the policy allows no network");
		ret->fix = "--allow-network";
		return;
	}
	bool writes = d->access & (WIRE_ACCESS_WRITE | WIRE_ACCESS_MAKE);
	ret->meaning = d->access & WIRE_ACCESS_MAKE    ? "make or remove"
		       : d->access & WIRE_ACCESS_WRITE ? "write"
						       : "read or execute";
	for (size_t i = 0; i < p->denied_paths.n; i++)
		if (path_is_within(d->path, p->denied_paths.v[i])) {
			snprintf(ret->reason, sizeof ret->reason, "deniedPaths closes it");
			return;
		}
	snprintf(ret->reason, sizeof ret->reason, "%s",
		 writes ? "no path of allowedWritePaths holds it" : "no path of allowedReadPaths or allowedWritePaths holds it");
	denial_path(d, path, sizeof path);
	if (!str_is_plain(path))
		return; /* what would be shown is not its name, but might be another's */
	str_shell_word(path, word, sizeof word);
	snprintf(ret->option, sizeof ret->option, "--%s %s", writes ? "write" : "read", word);
	ret->fix = ret->option;
}

/* Refused by a file of the user's own. */
static void describe_file(const struct policy *p, const struct wire_denial *d, struct denial_words *ret)
{
	uint32_t files = 0;
	const char *name = "the seccomp file";
	for (size_t i = 0; i < p->seccomp.n; i++)
		if (!str_equal(p->seccomp.v[i], "default") && !str_equal(p->seccomp.v[i], "strict") && ++files == d->filter)
			name = p->seccomp.v[i];
	snprintf(ret->reason, sizeof ret->reason, "%s refuses it", name);
	bool strict = strv_has(&p->seccomp, "strict");
	if (notify_would_pass(strict ? SECCOMP_BUILTIN_STRICT : SECCOMP_BUILTIN_DEFAULT, p->allow_network, d->syscall, d->args))
		ret->fix = strict ? "--seccomp strict" : "--seccomp default"; /* without the file */
}

void denial_describe(const struct policy *p, const struct wire_denial *d, struct denial_words *ret)
{
	*ret = (struct denial_words){ .kind = d->kind, .call = seccomp_syscall_name(d->syscall), .meaning = "a system call" };
	if (d->access & WIRE_ACCESS_HOST) {
		describe_host(d, ret);
		return;
	}
	if (d->access) {
		describe_traced(p, d, ret);
		return;
	}
	bool strict = strv_has(&p->seccomp, "strict");
	if (d->filter > 0) {
		describe_file(p, d, ret);
		return;
	}
	snprintf(ret->reason, sizeof ret->reason, "the system call filter refuses it");
	ret->fix = find_fix(p, strict, d);
	const struct meaning *m = ret->call ? find_meaning(ret->call, d->args) : NULL;
	const struct seccomp_row *row = ret->call ? find_row(ret->call) : NULL;
	if (row)
		row_reason(row, strict && notify_would_pass(SECCOMP_BUILTIN_DEFAULT, true, d->syscall, d->args), ret->reason,
			   sizeof ret->reason);
	if (!m)
		return;
	ret->kind = kinds[m->kind];
	ret->meaning = m->text;
	ret->probed = m->kind == PROBED;
	if (m->reason[0])
		snprintf(ret->reason, sizeof ret->reason, "%s", m->reason);
}

void denial_put(struct json_writer *w, const char *key, const struct policy *p, const struct wire_denial *d)
{
	char program[4 * sizeof d->program], path[4 * sizeof d->path];
	struct denial_words words;
	denial_describe(p, d, &words);
	str_printable(d->program, strlen(d->program), program, sizeof program);
	str_printable(d->path, strlen(d->path), path, sizeof path);
	json_open(w, key, '{');
	json_put_string(w, "kind", words.kind);
	json_put_string(w, "syscall", words.call);
	json_put_string(w, "meaning", words.meaning);
	json_put_string(w, "error", names_errno(d->errnum));
	json_put_string(w, "path", path[0] ? path : NULL);
	json_put_int(w, "pid", d->pid);
	json_put_string(w, "program", program[0] ? program : NULL);
	json_put_string(w, "reason", words.reason);
	char fix[4 * sizeof words.option];
	str_printable(words.fix ? words.fix : "", words.fix ? strlen(words.fix) : 0, fix, sizeof fix);
	json_put_string(w, "fix", words.fix ? fix : NULL);
	json_put_int(w, "count", (int64_t)d->count);
	json_close(w, '}');
}

bool run_denial(const struct run *run, size_t index, struct denial_line *ret)
{
	if (index >= run->denials.n)
		return false;
	const struct wire_denial *d = &run->denials.v[index];
	struct denial_words words;
	denial_describe(&run->decision.policy, d, &words);
	char times[32] = "";
	if (d->count > 1)
		snprintf(times, sizeof times, " (%llu times)", (unsigned long long)d->count);
	snprintf(ret->text, sizeof ret->text, "denied: %s, %s%s%s, by %s%s: %s%s%s", words.call ? words.call : "a call",
		 words.meaning, d->path[0] ? ", " : "", d->path, d->program[0] ? d->program : "a program", times, words.reason,
		 words.fix ? "; allow it with " : "", words.fix ? words.fix : "");
	ret->probed = words.probed;
	return true;
}

/* ---- where nobody could listen ---- */
static const char *why_deaf(int errnum)
{
	switch (errnum) {
	case EBUSY:
	case EPERM:
		return "unavailable: somebody above already listens to the system calls of this tree";
	case EINVAL:
	case ENOSYS:
		return "unavailable: this kernel has no seccomp user notification";
	case EMFILE:
		return "unavailable: maxFileDescriptors leaves no descriptor for the listener";
	default:
		return "unavailable: the listener could not be set up";
	}
}

static void take_back(struct plan *plan, const char *clause, const char *why)
{
	for (size_t i = 0; why && i < plan->claim_count; i++)
		if (str_equal(plan->claims[i].clause, clause)) {
			plan->claims[i].mechanism = why;
			plan->claims[i].strength = STRENGTH_NONE;
		}
}

void denials_tell_deaf(struct plan *plan, int errnum)
{
	take_back(plan, "denials", why_deaf(errnum));
	take_back(plan, "tracing", why_deaf(errnum));
}

void denials_tell_blind(struct plan *plan, const struct wire_heard *heard)
{
	const char *name = names_errno(heard->blind);
	take_back(plan, "tracing",
		  plan_text(plan, "incomplete: %llu calls could not be looked into (%s)", (unsigned long long)heard->unseen,
			    name ? name : "unknown"));
}

const char *run_untraced(const struct run *run)
{
	const struct plan *plan = &run->decision.plan;
	for (size_t i = 0; i < plan->claim_count; i++)
		if (str_equal(plan->claims[i].clause, "tracing") && plan->claims[i].strength == STRENGTH_NONE)
			return plan->claims[i].mechanism;
	return NULL;
}
