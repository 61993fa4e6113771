#include "engine/learn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/internal.h"
#include "engine/learn_search.h"

enum { MOST_USES = 20000, MOST_LACKS = 2048 };

/* Limits: twice what was used; if a replay ends otherwise and lacks no place, more, and at last the ceiling's. */
static const int head_rooms[] = { 2, 8, 0 };

void learn_done(struct learn *l)
{
	policy_done(&l->ceiling);
	strv_done(&l->base);
	secrets_done(&l->secrets);
	strv_done(&l->scratch);
	for (size_t i = 0; i < l->use_count; i++)
		free(l->uses[i].path);
	free(l->uses);
	strv_done(&l->addresses);
	proposal_done(&l->proposal);
	strv_done(&l->hidden);
	strv_done(&l->exposed);
	for (size_t i = 0; i < l->lack_count; i++) {
		free(l->lacks[i].path);
		free(l->lacks[i].reason);
		free(l->lacks[i].fix);
	}
	free(l->lacks);
	*l = (struct learn){ 0 };
}

/* ---- what was used ---- */

/* 1 if it is new. */
static int add_use(struct learn *l, const char *path, uint32_t access, uint64_t count, bool replayed)
{
	for (size_t i = 0; replayed && i < l->use_count; i++)
		if ((l->uses[i].access & access) == access && strcmp(l->uses[i].path, path) == 0)
			return 0;
	if (l->use_count == MOST_USES) {
		l->unheard++;
		return 0;
	}
	struct learn_use *more = reallocarray(l->uses, l->use_count + 1, sizeof *more);
	if (!more)
		return -ENOMEM;
	l->uses = more;
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	l->uses[l->use_count++] = (struct learn_use){ copy, access, count, replayed };
	return 1;
}

static int add_address(struct learn *l, const char *address)
{
	l->network = true;
	return l->addresses.n < 64 && !strv_has(&l->addresses, address) ? strv_add(&l->addresses, address) : 0;
}

/* Who starts a script starts its interpreter, and the kernel does that without a call that could be traced. */
static int add_interpreters(struct learn *l, const char *program)
{
	char path[512], head[512];
	snprintf(path, sizeof path, "%s", program);
	for (int depth = 0; depth < 4; depth++) {
		autoclean(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct stat st;
		ssize_t got = fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ? -1 : read(fd, head, sizeof head - 1);
		if (got < 3 || head[0] != '#' || head[1] != '!')
			return 0;
		head[got] = '\0';
		const char *start = head + 2 + strspn(head + 2, " \t");
		autoclean(free_done) char *name = strndup(start, strcspn(start, " \t\n"));
		autoclean(free_done) char *real = NULL;
		bool missing = false;
		if (!name)
			return -ENOMEM;
		if (name[0] != '/' || path_resolve_below(name, "/", NULL, &real, &missing) < 0 || missing)
			return 0;
		TRY(add_use(l, real, WIRE_ACCESS_READ | WIRE_ACCESS_EXECUTE, 1, true));
		snprintf(path, sizeof path, "%s", real);
	}
	return 0;
}

static int gather_uses(struct learn *l, const struct run *run)
{
	for (size_t i = 0; i < run->uses.n; i++) {
		const struct wire_denial *use = &run->uses.v[i];
		uint32_t access = use->access & ~(uint32_t)WIRE_ACCESS_GRANTED;
		if (access & WIRE_ACCESS_NETWORK) {
			TRY(add_address(l, use->path));
			continue;
		}
		/* What no path of the ceiling holds the level gives by itself: HOME and TMPDIR, files of a private root. */
		bool held = paths_cover(&l->ceiling.read_paths, use->path) || paths_cover(&l->ceiling.write_paths, use->path);
		if (held && !paths_cover(&l->scratch, use->path))
			TRY(add_use(l, use->path, access, use->count, false));
	}
	/* The command's own start cannot be looked into everywhere. */
	autoclean(free_done) char *program = NULL;
	int found = path_resolve_below(run->command.program, "/", NULL, &program, NULL);
	if (found == 0)
		TRY(add_use(l, program, WIRE_ACCESS_READ | WIRE_ACCESS_EXECUTE, 1, true));
	for (size_t i = 0, count = l->use_count; i < count; i++)
		if (l->uses[i].access & WIRE_ACCESS_EXECUTE)
			TRY(add_interpreters(l, l->uses[i].path));
	return found == -ENOMEM ? found : 0;
}

/* ---- what was lacking ---- */

static int add_lack(struct learn *l, const char *path, const char *access, const char *reason, const char *fix)
{
	for (size_t i = 0; i < l->lack_count; i++)
		if (strcmp(l->lacks[i].path, path) == 0 && strcmp(l->lacks[i].access, access) == 0)
			return 0;
	if (l->lack_count == MOST_LACKS)
		return 0;
	struct learn_lack *more = reallocarray(l->lacks, l->lack_count + 1, sizeof *more);
	if (!more)
		return -ENOMEM;
	l->lacks = more;
	struct learn_lack lack = { strdup(path), access, strdup(reason), fix ? strdup(fix) : NULL };
	l->lacks[l->lack_count++] = lack;
	return lack.path && lack.reason && (!fix || lack.fix) ? 0 : -ENOMEM;
}

static const char *access_name(uint32_t access)
{
	return access & (WIRE_ACCESS_NETWORK | WIRE_ACCESS_HOST) ? "network"
	       : access & (WIRE_ACCESS_WRITE | WIRE_ACCESS_MAKE) ? "write"
								 : "read";
}

/* What the ceiling itself refused. */
static int gather_lacks(struct learn *l, const struct run *run)
{
	for (size_t i = 0; i < run->denials.n; i++) {
		const struct wire_denial *d = &run->denials.v[i];
		struct denial_words words;
		denial_describe(&run->decision.policy, d, &words);
		bool network = words.fix && str_equal(words.fix, "--allow-network");
		if (words.probed || !(d->access || network))
			continue;
		char path[sizeof d->path];
		denial_path(d, path, sizeof path);
		const char *name = network && !path[0] ? "the network" : path;
		TRY(add_lack(l, name, network ? "network" : access_name(d->access), "the ceiling does not allow it", words.fix));
	}
	return 0;
}

static bool is_secret(const struct learn *l, const char *path)
{
	return paths_cover(&l->secrets.paths[SECRET_HIDDEN], path) || paths_cover(&l->hidden, path);
}

/* What the proposal leaves out although it was used. */
static int tell_refusals(struct learn *l)
{
	for (size_t i = 0; i < l->proposal.line_count; i++) {
		const struct propose_line *line = &l->proposal.lines[i];
		char word[1024], fix[1200];
		if (!line->reason)
			continue;
		str_shell_word(line->path, word, sizeof word);
		snprintf(fix, sizeof fix, "--%s %s%s", line->write ? "write" : "read", word,
			 is_secret(l, line->path) ? ", once its deniedPaths does not close it" : "");
		TRY(add_lack(l, line->path, line->write ? "write" : "read", line->reason, str_is_plain(line->path) ? fix : NULL));
	}
	return 0;
}

/* ---- the beginning ---- */

static struct outcome_facts facts_of(const struct outcome *o)
{
	return (struct outcome_facts){ o->kind, o->exit_code, o->signal, o->reason, o->duration_us };
}

static int check_traced(const struct run *run, struct err *e)
{
	const struct outcome *o = run_outcome(run);
	if (o->kind == OUTCOME_FAILED) {
		*e = o->err;
		return -EIO;
	}
	if (o->kind == OUTCOME_KILLED) {
		err_set(e, ERR_REFUSED, 0, "learn", "the command was ended before its end: %s", kill_reason_row(o->reason)->text);
		const struct limited *limited = limited_by(o->reason);
		return limited ? err_hint(e, -ECANCELED, "raise the ceiling with --%s", policy_limit_rows[limited->limit].flag)
			       : -ECANCELED;
	}
	bool blind = run->blind && run->uses.n == 0;
	if (!run->deaf && !blind)
		return 0;
	err_set(e, ERR_UNSUPPORTED, run->deaf ? run->deaf : run->blind, "learn", "the command could not be traced: %s",
		run_untraced(run) ? run_untraced(run) : "nobody listened");
	return err_hint(e, -ENOTSUP, "%s",
			run->deaf ? "learn outside of other sandboxes and tracers; `cordon doctor` says whether there is a listener"
				  : "learn as the user who owns the program and may read it, or as root");
}

static int add_scratch(struct learn *l, const struct plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct op *op = &plan->ops[i];
		const char *path = op->kind == OP_MOUNT_SCRATCH ? op->u.MOUNT_SCRATCH.path
				   : op->kind == OP_PRIVATE_DIR ? op->u.PRIVATE_DIR.path
								: NULL;
		if (path)
			TRY(strv_add(&l->scratch, path));
	}
	return 0;
}

/* What "@system" stands for depends on the level. */
static int find_base(enum policy_level level, struct strv *ret, struct err *e)
{
	autoclean(policy_done) struct policy p = { .set = POLICY_BIT(FIELD_READ) | POLICY_BIT(FIELD_LEVEL), .level = level };
	if (strv_add(&p.read_paths, "@system") < 0)
		return err_nomem(e);
	TRY(policy_resolve_paths(&p, &(struct policy_place){ "/", NULL }, e));
	*ret = p.read_paths;
	p.read_paths = (struct strv){ 0 };
	return 0;
}

static void measure(struct learn *l, const struct outcome *o)
{
	const struct wire_usage *u = &o->usage;
	const int64_t seen[] = {
		u->cpu_us, u->peak_memory_bytes, u->disk_write_bytes, o->duration_us, u->processes, u->output_bytes
	};
	int64_t *most[] = { &l->usage.cpu_us,  &l->usage.memory_bytes, &l->usage.disk_bytes,
			    &l->usage.wall_us, &l->usage.processes,    &l->usage.output_bytes };
	for (size_t i = 0; i < COUNT_OF(seen); i++)
		if (seen[i] > *most[i])
			*most[i] = seen[i];
}

int learn_begin(const struct run *run, struct learn *ret, struct err *e)
{
	TRY(check_traced(run, e));
	autoclean(learn_done) struct learn l = { .head_room = head_rooms[0], .first = facts_of(run_outcome(run)) };
	TRY(find_base(run->decision.policy.level, &l.base, e));
	if (policy_copy(&run->decision.policy, &l.ceiling) < 0 || secrets_gather(getenv("HOME"), &l.secrets) < 0 ||
	    add_scratch(&l, &run->decision.plan) < 0 || gather_uses(&l, run) < 0 || gather_lacks(&l, run) < 0)
		return err_nomem(e);
	measure(&l, run_outcome(run));
	l.unheard += run->uses.more + run->uses.unseen + run_outcome(run)->missed;
	*ret = l;
	l = (struct learn){ 0 };
	return 0;
}

/* ---- the proposal ---- */

/* Is it still what it was when it was traced? 1; 0: it is gone, or leads elsewhere now. */
static int still_there(struct learn *l, const struct learn_use *use, bool *ret_directory)
{
	autoclean(free_done) char *real = NULL;
	bool missing = false;
	struct stat st;
	int result = path_resolve_below(use->path, "/", NULL, &real, &missing);
	if (result == -ENOMEM)
		return result;
	if (result < 0 || missing || lstat(use->path, &st) < 0)
		return 0;
	if (strcmp(real, use->path) != 0) {
		const char *access = access_name(use->access);
		TRY(add_lack(l, use->path, access, "it leads elsewhere than it did when it was used", NULL));
		return 0;
	}
	*ret_directory = S_ISDIR(st.st_mode);
	return 1;
}

static int current_uses(struct learn *l, struct propose_use *uses, size_t *ret_count)
{
	size_t count = 0;
	for (size_t i = 0; i < l->use_count; i++) {
		const struct learn_use *use = &l->uses[i];
		bool directory;
		int there = still_there(l, use, &directory);
		TRY(there);
		if (there && use->access & WIRE_ACCESS_READ)
			uses[count++] = (struct propose_use){ use->path, false, directory };
		if (there && use->access & WIRE_ACCESS_WRITE)
			uses[count++] = (struct propose_use){ use->path, true, directory };
	}
	*ret_count = count;
	return 0;
}

int learn_propose(struct learn *l, struct err *e)
{
	autoclean(free_done) struct propose_use *uses = calloc(2 * l->use_count + 1, sizeof *uses);
	struct propose_input in = { &l->ceiling, &l->base, &l->secrets, uses, 0, l->usage, l->head_room, l->network };
	if (!uses || current_uses(l, uses, &in.use_count) < 0)
		return err_nomem(e);
	proposal_done(&l->proposal);
	TRY(policy_propose(&in, &l->proposal, e));
	if (learn_search(l) < 0 || tell_refusals(l) < 0)
		return err_nomem(e);
	return 0;
}

/* ---- replay ---- */

static int copy_request(const struct learn *l, const struct request *from, struct request *to)
{
	to->shell = from->shell;
	to->whole = to->from_file = to->trace_denials = to->capture = true;
	to->input = from->input;
	to->input_path = from->input_path ? strdup(from->input_path) : NULL;
	to->drain_ms = from->drain_ms;
	to->guard_off = from->guard_off;
	TRY(strv_copy(&from->argv, &to->argv));
	TRY(strv_copy(&from->keep_fds, &to->keep_fds));
	TRY(policy_copy(&l->proposal.policy, &to->flags));
	free(TAKE(to->flags.working_directory));
	to->flags.working_directory = strdup(l->ceiling.working_directory);
	to->flags.set |= POLICY_BIT(FIELD_CWD);
	return to->flags.working_directory && (to->input_path || !from->input_path) ? 0 : -ENOMEM;
}

static int check_within(const struct learn *l, struct engine *engine, struct request *request, struct err *e)
{
	autoclean(decision_done) struct decision d = { 0 };
	autoclean(strv_done) struct strv excess = { 0 };
	request->judge_only = true;
	int result = engine_decide(engine, request, NULL, &d, e);
	request->judge_only = false;
	TRY(result);
	int within = policy_within(&d.policy, &l->ceiling, &excess);
	if (within < 0)
		return err_nomem(e);
	return within ? 0
		      : err_set(e, ERR_INTERNAL, 0, "learn", "the proposal asks for more than the ceiling: %s",
				excess.n ? excess.v[0] : "unknown");
}

int learn_replay_request(const struct learn *l, struct engine *engine, const struct request *original, struct request *ret,
			 struct err *e)
{
	autoclean(request_done) struct request r = { 0 };
	if (copy_request(l, original, &r) < 0)
		return err_nomem(e);
	TRY(check_within(l, engine, &r, e));
	*ret = r;
	r = (struct request){ 0 };
	return 0;
}

/* How many of the things that it lacked are new, and granted by the ceiling? */
static int add_lacking(struct learn *l, const struct run *replay)
{
	int added = 0;
	for (size_t i = 0; i < replay->denials.n; i++) {
		const struct wire_denial *d = &replay->denials.v[i];
		struct denial_words words;
		char path[sizeof d->path];
		denial_describe(&replay->decision.policy, d, &words);
		if (words.fix && str_equal(words.fix, "--allow-network") && l->ceiling.allow_network && !l->network &&
		    !words.probed) {
			l->network = true;
			added++;
		}
		if (!d->access || d->access & (WIRE_ACCESS_NETWORK | WIRE_ACCESS_HOST))
			continue;
		denial_path(d, path, sizeof path);
		bool write = d->access & (WIRE_ACCESS_WRITE | WIRE_ACCESS_MAKE);
		bool held = paths_cover(&l->ceiling.write_paths, path) || (!write && paths_cover(&l->ceiling.read_paths, path));
		if (!held || paths_cover(&l->ceiling.denied_paths, path) || secrets_protect(&l->secrets, path, write) ||
		    is_secret(l, path))
			continue;
		int new = add_use(l, path, write ? WIRE_ACCESS_WRITE : WIRE_ACCESS_READ, d->count, true);
		TRY(new);
		added += new;
	}
	return added;
}

static bool same(const struct outcome_facts *a, const struct outcome_facts *b)
{
	return a->kind == b->kind && a->exit_code == b->exit_code && a->signal == b->signal && a->reason == b->reason;
}

int learn_compare(struct learn *l, const struct run *replay, struct err *e)
{
	const struct outcome *o = run_outcome(replay);
	if (o->kind == OUTCOME_FAILED) {
		*e = o->err;
		return -EIO;
	}
	l->replays++;
	l->last = facts_of(o);
	int added = add_lacking(l, replay);
	if (added < 0)
		return err_nomem(e);
	bool equal = same(&l->first, &l->last);
	l->suffices = equal && added == 0;
	l->added = added > 0;
	for (size_t i = 0; !equal && !l->added && i + 1 < COUNT_OF(head_rooms); i++)
		if (head_rooms[i] == l->head_room) {
			l->head_room = head_rooms[i + 1];
			l->added = true;
			break;
		}
	return 0;
}
