/* From what was used to the smallest policy: the rule of folding, case by case, and what must hold for uses that nobody chose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "base/str.h"
#include "policy/propose.h"

#define HOME "/home/me"

struct ground {
	struct policy ceiling;
	struct strv base;
	struct secrets secrets;
};

static void ground_done(struct ground *g)
{
	policy_done(&g->ceiling);
	strv_done(&g->base);
	secrets_done(&g->secrets);
}

/* Nothing of it needs to be there: only the words count. */
static struct ground ground(const char *ceiling)
{
	struct ground g = { 0 };
	struct err e = { 0 };
	autoclean(policy_done) struct policy layer = { 0 };
	assert_int_equal(policy_profile("build", &g.ceiling, &e), 0);
	strv_done(&g.ceiling.read_paths);
	strv_done(&g.ceiling.write_paths);
	strv_done(&g.ceiling.denied_paths);
	assert_int_equal(policy_from_json(ceiling, strlen(ceiling), "test", &layer, &e), 0);
	assert_int_equal(policy_overlay(&g.ceiling, &layer, &e), 0);
	assert_int_equal(strv_add(&g.base, "/usr") | strv_add(&g.base, "/etc") | strv_add(&g.base, "/dev/null"), 0);
	assert_int_equal(secrets_gather(HOME, &g.secrets), 0);
	return g;
}

static struct proposal propose(const struct ground *g, const struct propose_use *uses, size_t count)
{
	struct propose_input in = {
		.ceiling = &g->ceiling, .base = &g->base, .secrets = &g->secrets, .uses = uses, .use_count = count, .head_room = 2
	};
	struct proposal p = { 0 };
	struct err e = { 0 };
	assert_int_equal(policy_propose(&in, &p, &e), 0);
	return p;
}

static void expect_list(const char *name, const char *wanted, const struct strv *got)
{
	autoclean(buf_done) struct buf text = BUF_MAX(1 << 20);
	for (size_t i = 0; i < got->n; i++)
		buf_add_format(&text, "%s%s", i ? " " : "", got->v[i]);
	if (strcmp(wanted, buf_text(&text)) != 0)
		fail_msg("%s: wanted \"%s\", got \"%s\"", name, wanted, buf_text(&text));
}

/* ---- cases ---- */

static const char wide[] = "{\"allowedReadPaths\":[\"/\"],\"allowedWritePaths\":[\"/w/p\",\"/home/me/p\"],"
			   "\"deniedPaths\":[\"/w/p/closed\"]}";

/* Uses: "r PATH", "w PATH"; a trailing slash is a directory. */
static const struct {
	const char *name, *uses[12];
	const char *read, *write, *refused;
} cases[] = {
	{ "nothing", { NULL }, "@system", "", "" },
	{ "the system's", { "r /usr/bin/cc", "r /etc/", "w /dev/null" }, "@system", "", "" },
	{ "one file", { "r /d/x/f" }, "@system /d/x/f", "", "" },
	{ "three files stay", { "r /d/x/a", "r /d/x/b", "r /d/x/c" }, "@system /d/x/a /d/x/b /d/x/c", "", "" },
	{ "one file three times", { "r /d/x/a", "r /d/x/a", "r /d/x/a", "r /d/x/a" }, "@system /d/x/a", "", "" },
	{ "four fold", { "r /d/x/a", "r /d/x/b", "r /d/x/c", "r /d/x/d" }, "@system /d/x", "", "" },
	{ "neighbours do not", { "r /d/x/a", "r /d/x/b", "r /d/y/c", "r /d/y/d" }, "@system /d/x/a /d/x/b /d/y/c /d/y/d", "", "" },
	{ "upwards", { "r /d/t/a/", "r /d/t/b/", "r /d/t/c/", "r /d/t/d/x" }, "@system /d/t/a /d/t/b /d/t/c /d/t/d/x", "", "" },
	{ "upwards, all of them", { "r /d/t/a/", "r /d/t/b/", "r /d/t/c/", "r /d/t/d/" }, "@system /d/t", "", "" },
	{ "not right below the root", { "r /d/a", "r /d/b", "r /d/c", "r /d/e" }, "@system /d/a /d/b /d/c /d/e", "", "" },
	{ "unless the ceiling names it",
	  { "r /d/a", "r /d/b", "r /d/c", "r /d/e", "w /w/p/" },
	  "@system /d/a /d/b /d/c /d/e",
	  "/w/p",
	  "" },
	{ "a listing", { "r /d/x/", "r /d/x/a" }, "@system /d/x", "", "" },
	{ "broad listings",
	  { "r /", "r /home/", "r /home/me/", "r /home/you/", "r /tmp/", "r /var/", "r /home/me/.cache/" },
	  "@system",
	  "",
	  "/ /home /home/me /home/you /tmp /var /home/me/.cache" },
	{ "writing", { "w /w/p/out/", "w /w/p/f", "r /w/p/out/x" }, "@system", "/w/p/f /w/p/out", "" },
	{ "writing holds reading",
	  { "w /w/p/o/", "r /w/p/o/a", "r /w/p/o/b", "r /w/p/o/c", "r /w/p/o/d" },
	  "@system",
	  "/w/p/o",
	  "" },
	{ "four written fold", { "w /w/p/a", "w /w/p/b", "w /w/p/c", "w /w/p/d" }, "@system", "/w/p", "" },
	{ "beyond the ceiling", { "w /d/x", "w /d/y/" }, "@system", "", "/d/x /d/y" },
	{ "closed by the ceiling", { "r /w/p/closed/x", "r /w/p/closed/" }, "@system", "", "/w/p/closed/x /w/p/closed" },
	{ "keys",
	  { "r /home/me/.ssh/id", "r /home/me/.ssh/", "r /root/.aws/x", "r /home/you/.ssh/id" },
	  "@system",
	  "",
	  "/home/me/.ssh/id /home/me/.ssh /root/.aws/x /home/you/.ssh/id" },
	{ "the system's keys", { "r /etc/ssh/ssh_config", "r /etc/shadow" }, "@system", "", "/etc/ssh/ssh_config /etc/shadow" },
	{ "a project's",
	  { "r /w/p/.env", "r /w/p/a/.env.local", "r /w/p/.env.example" },
	  "@system /w/p/.env.example",
	  "",
	  "/w/p/.env /w/p/a/.env.local" },
	{ "hooks",
	  { "w /w/p/.git/hooks/x", "w /w/p/.git/", "r /w/p/.git/", "w /w/p/.git/objects/" },
	  "@system /w/p/.git",
	  "/w/p/.git/objects",
	  "/w/p/.git/hooks/x /w/p/.git" },
	{ "rc files", { "w /home/me/.bashrc", "r /home/me/.bashrc" }, "@system /home/me/.bashrc", "", "/home/me/.bashrc" },
	{ "home does not fold",
	  { "r /home/me/a", "r /home/me/b", "r /home/me/c", "r /home/me/d" },
	  "@system /home/me/a /home/me/b /home/me/c /home/me/d",
	  "",
	  "" },
	{ "parents of keys do not fold",
	  { "r /home/me/.cargo/a", "r /home/me/.cargo/b", "r /home/me/.cargo/c", "r /home/me/.cargo/d" },
	  "@system /home/me/.cargo/a /home/me/.cargo/b /home/me/.cargo/c /home/me/.cargo/d",
	  "",
	  "" },
	{ "names of a kind",
	  { "r /d/x/a\nb", "r /d/x/\033[2J", "r /d/x/\377" },
	  "@system",
	  "",
	  "/d/x/a\nb /d/x/\033[2J /d/x/\377" },
};

static void test_cases(void **state)
{
	(void)state;
	autoclean(ground_done) struct ground g = ground(wide);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct propose_use uses[12];
		char paths[12][64];
		size_t count = 0;
		for (; count < 12 && cases[i].uses[count]; count++) {
			const char *text = cases[i].uses[count];
			size_t length = strlen(text + 2);
			bool directory = text[length + 1] == '/';
			snprintf(paths[count], sizeof paths[count], "%.*s", (int)(length - (directory && length > 1)), text + 2);
			uses[count] = (struct propose_use){ paths[count], text[0] == 'w', directory };
		}
		autoclean(proposal_done) struct proposal p = propose(&g, uses, count);
		expect_list(cases[i].name, cases[i].read, &p.policy.read_paths);
		expect_list(cases[i].name, cases[i].write, &p.policy.write_paths);
		autoclean(strv_done) struct strv refused = { 0 };
		for (size_t k = 0; k < p.line_count; k++)
			if (p.lines[k].reason)
				assert_int_equal(strv_add(&refused, p.lines[k].path), 0);
		expect_list(cases[i].name, cases[i].refused, &refused);
		assert_string_equal(p.policy.denied_paths.v[0], "@credentials");
	}
}

static void test_counts(void **state)
{
	(void)state;
	autoclean(ground_done) struct ground g = ground(wide);
	const struct propose_use uses[] = { { "/d/x/a", 0, 0 }, { "/d/x/b", 0, 0 }, { "/d/x/c", 0, 0 },
					    { "/d/x/d", 0, 0 }, { "/d/x/d", 0, 0 }, { "/d/y/a", 0, 0 } };
	autoclean(proposal_done) struct proposal p = propose(&g, uses, COUNT_OF(uses));
	assert_int_equal(p.line_count, 2);
	assert_int_equal(p.lines[0].entries, 4);
	assert_int_equal(p.lines[1].entries, 1);
}

/* ---- a ceiling that does not hold the system ---- */

static void test_base(void **state)
{
	(void)state;
	autoclean(ground_done) struct ground g = ground("{\"allowedReadPaths\":[\"/usr\",\"/dev/null\",\"/d/x\"]}");
	const struct propose_use uses[] = { { "/usr/bin/cc", 0, 0 }, { "/etc/passwd", 0, 0 }, { "/d/x/f", 0, 0 } };
	autoclean(proposal_done) struct proposal p = propose(&g, uses, COUNT_OF(uses));
	expect_list("base", "/usr /dev/null /d/x/f", &p.policy.read_paths);
	assert_int_equal(p.lines[0].reason != NULL, 1);
	assert_string_equal(p.lines[0].path, "/etc/passwd");
}

/* ---- limits and network ---- */

static void test_limits(void **state)
{
	(void)state;
	autoclean(ground_done) struct ground g = ground(wide);
	struct propose_input in = {
		.ceiling = &g.ceiling, .base = &g.base, .secrets = &g.secrets, .head_room = 2, .network = true
	};
	in.usage = (struct propose_usage){ 3100000, 100LL << 20, 20LL << 20, 9100000, 20, 5000 };
	struct err e = { 0 };
	autoclean(proposal_done) struct proposal p = { 0 };
	assert_int_equal(policy_propose(&in, &p, &e), 0);
	static const int64_t wanted[] = { 7, 208, 40, 19000, 40, 1024, 12288, POLICY_UNLIMITED, POLICY_UNLIMITED };
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		assert_int_equal(p.policy.limits[i], wanted[i]);
	assert_false(p.policy.allow_network); /* the ceiling has none */
	proposal_done(&p);

	in.usage = (struct propose_usage){ INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, -1 };
	g.ceiling.allow_network = true;
	assert_int_equal(policy_propose(&in, &p, &e), 0);
	for (size_t i = 0; i < LIMIT_OUTPUT_BYTES; i++)
		assert_int_equal(p.policy.limits[i], g.ceiling.limits[i]);
	assert_int_equal(p.policy.limits[LIMIT_OUTPUT_BYTES], 4096);
	assert_true(p.policy.allow_network);
	proposal_done(&p);

	in.head_room = 0;
	in.network = false;
	assert_int_equal(policy_propose(&in, &p, &e), 0);
	assert_memory_equal(p.policy.limits, g.ceiling.limits, sizeof g.ceiling.limits);
	assert_false(p.policy.allow_network);
}

/* ---- anything ---- */

static unsigned roll(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % sides;
}

static void make_path(unsigned *seed, char *out, size_t size)
{
	static const char *const tops[] = { "/home/me", "/home/you", "/root", "/w/p", "/w/q",    "/etc",
					    "/usr/lib", "/tmp",      "/",     "/d",   "/var/lib" };
	static const char *const names[] = { "a",    "b",     "c",       "d",  "e",       "f",      ".ssh",  ".env",
					     ".git", "hooks", ".config", "gh", ".bashrc", "closed", "config" };
	const char *top = tops[roll(seed, COUNT_OF(tops))];
	size_t used = (size_t)snprintf(out, size, "%s", top[1] ? top : "");
	for (unsigned depth = roll(seed, 5); depth > 0; depth--)
		used += (size_t)snprintf(out + used, size - used, "/%s", names[roll(seed, COUNT_OF(names))]);
	if (!out[0])
		snprintf(out, size, "/");
}

static bool told(const struct proposal *p, const struct propose_use *use)
{
	for (size_t i = 0; i < p->line_count; i++)
		if (p->lines[i].reason && p->lines[i].write == use->write && strcmp(p->lines[i].path, use->path) == 0)
			return true;
	return false;
}

static void check_laws(const struct ground *g, const struct proposal *p, const struct propose_use *uses, size_t count)
{
	autoclean(policy_done) struct policy resolved = { 0 };
	autoclean(strv_done) struct strv excess = { 0 };
	struct err e = { 0 };
	assert_int_equal(policy_copy(&p->policy, &resolved), 0);
	strv_remove(&resolved.read_paths, 0); /* "@system", and what it stands for here */
	assert_int_equal(strv_append(&resolved.read_paths, &g->base), 0);
	assert_int_equal(policy_resolve_paths(&resolved, &(struct policy_place){ "/", HOME }, &e), 0);
	if (policy_within(&resolved, &g->ceiling, &excess) != 1)
		fail_msg("more than the ceiling: %s", excess.n ? excess.v[0] : "?");
	for (size_t i = 0; i < count; i++) {
		bool granted = paths_cover(&resolved.write_paths, uses[i].path) ||
			       (!uses[i].write && paths_cover(&resolved.read_paths, uses[i].path));
		bool protected = secrets_protect(&g->secrets, uses[i].path, uses[i].write);
		assert_true(told(p, &uses[i]) || granted);
		assert_true(!protected || told(p, &uses[i]));
	}
	for (size_t i = 0; i < p->line_count; i++) {
		const struct propose_line *line = &p->lines[i];
		struct propose_input in = { .ceiling = &g->ceiling, .base = &g->base, .secrets = &g->secrets };
		if (line->reason)
			continue;
		assert_null(secrets_protect(&g->secrets, line->path, line->write));
		if (line->entries > 1)
			assert_null(propose_keeps(&in, line->path, line->write));
		assert_null(secrets_below(&g->secrets, line->path, line->write));
	}
}

static void test_anything(void **state)
{
	(void)state;
	autoclean(ground_done) struct ground g = ground(wide);
	enum { MOST = 60 };
	for (unsigned round = 0; round < 3000; round++) {
		unsigned seed = round * 7919 + 1;
		char paths[MOST][128];
		struct propose_use uses[MOST], turned[MOST];
		size_t count = roll(&seed, MOST) + 1;
		for (size_t i = 0; i < count; i++) {
			make_path(&seed, paths[i], sizeof paths[i]);
			uses[i] = (struct propose_use){ paths[i], roll(&seed, 3) == 0, roll(&seed, 4) == 0 };
		}
		for (size_t i = 0; i < count; i++) { /* what has something below is a directory, and of one mind about it */
			for (size_t k = 0; k < count; k++)
				uses[i].directory |= path_is_within(paths[k], paths[i]) &&
						     (uses[k].directory || strcmp(paths[k], paths[i]) != 0);
			turned[count - 1 - i] = uses[i];
		}
		autoclean(proposal_done) struct proposal p = propose(&g, uses, count), q = propose(&g, turned, count);
		check_laws(&g, &p, uses, count);
		/* The order of uses plays no part. */
		autoclean(buf_done) struct buf a = BUF_MAX(1 << 20), b = BUF_MAX(1 << 20);
		assert_int_equal(policy_to_json(&p.policy, &a), 0);
		assert_int_equal(policy_to_json(&q.policy, &b), 0);
		assert_string_equal(buf_text(&a), buf_text(&b));
	}
}

/* A hundred thousand places: bounded, and still within the ceiling. */
static void test_many(void **state)
{
	(void)state;
	autoclean(ground_done) struct ground g = ground(wide);
	enum { MOST = 100000 };
	struct propose_use *uses = calloc(MOST, sizeof *uses);
	char(*paths)[48] = calloc(MOST, sizeof *paths);
	for (size_t i = 0; i < MOST; i++) {
		snprintf(paths[i], sizeof paths[i], i % 3 ? "/d%zu/x%zu/f" : "/home/me/.ssh/%zu%zu", i, i % 7);
		uses[i] = (struct propose_use){ paths[i], i % 2, false };
	}
	autoclean(proposal_done) struct proposal p = propose(&g, uses, MOST);
	assert_true(p.policy.read_paths.n <= POLICY_MAX_ENTRIES && p.policy.write_paths.n <= POLICY_MAX_ENTRIES);
	assert_true(p.untold > 0 && p.line_count < 10000);
	free(uses);
	free(paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),  cmocka_unit_test(test_counts),   cmocka_unit_test(test_base),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_anything), cmocka_unit_test(test_many),
	};
	return cmocka_run_group_tests_name("policy_propose", tests, NULL, NULL);
}
