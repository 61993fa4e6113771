/* The laws of the lattice, on thousands of generated policies from small universes, so that collisions are the rule: paths in
 * all spellings over a real tree with symlinks, wildcard hosts with ports, few commands and limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "base/str.h"
#include "policy/policy.h"

static char tree[64];
static struct policy_place place = { .cwd = tree, .home = tree };

/* ---- a small world ---- */

static int make_tree(void **state)
{
	(void)state;
	snprintf(tree, sizeof tree, "/tmp/cordon-lattice-XXXXXX");
	assert_non_null(mkdtemp(tree));
	assert_int_equal(chdir(tree), 0);
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/b", 0755), 0);
	assert_int_equal(mkdir("a/b/c", 0755), 0);
	assert_int_equal(mkdir("a-b", 0755), 0); /* sorts between a and a/b */
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(symlink("a/b", "l"), 0);
	assert_int_equal(symlink("../a", "d/up"), 0);
	assert_int_equal(symlink(tree, "d/self"), 0);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	assert_int_equal(chdir("/tmp"), 0);
	return fd_remove_tree(-100 /* AT_FDCWD */, tree);
}

static const char *const paths[] = { "a",           "a/b",       "a/b/c",     "a-b",    "d",        "l",          "l/c",
				     "d/up",        "d/up/b/..", "a/../a/b/", "a//b/.", "./d/",     "d/self/a/b", "a/missing",
				     "l/missing/x", "~/a-b",     "~",         ".",      "d/../l/c", "/" };
static const char *const hosts[] = { "x.org",        "www.x.org", "*.x.org",   "*.www.x.org", "x.org:443",    "*.x.org:443",
				     "www.x.org:80", "Y.org",     "192.0.2.1", "[::1]",       "[0:0::1]:443", "*.org" };
static const char *const commands[] = { "git", "make", "sh", "/bin/sh" };
static const char *const pairs[] = { "A=1", "A=2", "B=1", "A1=x", "C=" };
static const char *const names[] = { "A", "B", "TERM" };
static const char *const filters[] = { "default", "strict", "none", "/f/one.json", "/f/two.json" };

static uint64_t seed = 20260131;

static unsigned roll(unsigned sides)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % sides;
}

static void pick(struct strv *to, const char *const *from, size_t count, unsigned most)
{
	for (unsigned left = roll(most + 1); left > 0; left--) {
		const char *one = from[roll((unsigned)count)];
		if (!strv_has(to, one))
			assert_int_equal(strv_add(to, one), 0);
	}
}

static void pick_pairs(struct strv *to)
{
	struct policy base = { .set = POLICY_BIT(FIELD_ENVIRONMENT) }, over = base;
	pick(&over.environment, pairs, COUNT_OF(pairs), 3);
	assert_int_equal(policy_overlay(&base, &over, NULL), 0); /* one value a key, in the order of keys */
	*to = base.environment;
	strv_done(&over.environment);
}

#define PICK(member, from, most) pick(&p.member, from, COUNT_OF(from), most)

/* `holes`: leave fields open, one in three. */
static struct policy generate(bool holes)
{
	struct policy p = { .set = holes ? 0 : (POLICY_BIT(FIELD_COUNT) - 1) & ~POLICY_BIT(FIELD_CWD) };
	for (int i = 0; holes && i < FIELD_COUNT; i++)
		if (roll(3))
			p.set |= POLICY_BIT(i);
	p.set &= ~POLICY_BIT(FIELD_CWD);
	p.level = (enum policy_level)roll(LEVEL_COUNT);
	p.allow_network = p.set & POLICY_BIT(FIELD_NETWORK) ? roll(3) : false;
	if (p.set & POLICY_BIT(FIELD_HOSTS) && (p.allow_network || !(p.set & POLICY_BIT(FIELD_NETWORK))))
		PICK(allowed_hosts, hosts, 4);
	PICK(read_paths, paths, 4);
	PICK(write_paths, paths, 2);
	PICK(denied_paths, paths, 2);
	pick_pairs(&p.environment);
	PICK(pass_environment, names, 3);
	PICK(allowed_commands, commands, 4);
	PICK(blocked_commands, commands, 2);
	PICK(seccomp, filters, 3);
	p.drop_capabilities = roll(2), p.run_as_non_root = roll(2), p.read_only_root = roll(2), p.no_new_privileges = roll(2),
	p.kill_on_violation = roll(8) == 0;
	static const int64_t ids[] = { POLICY_ID_UNSET, 0, 1000, 65534 };
	p.user_id = ids[roll(4)], p.group_id = ids[roll(4)];
	for (int i = 0; i < LIMIT_COUNT; i++)
		p.limits[i] = roll(4) ? 1 + roll(3) : POLICY_UNLIMITED;
	/* A list that is not stated is empty. */
	struct {
		enum policy_field field;
		struct strv *list;
	} lists[] = { { FIELD_READ, &p.read_paths },
		      { FIELD_WRITE, &p.write_paths },
		      { FIELD_DENIED, &p.denied_paths },
		      { FIELD_ENVIRONMENT, &p.environment },
		      { FIELD_PASS_ENVIRONMENT, &p.pass_environment },
		      { FIELD_ALLOWED_COMMANDS, &p.allowed_commands },
		      { FIELD_BLOCKED_COMMANDS, &p.blocked_commands },
		      { FIELD_SECCOMP, &p.seccomp } };
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		if (!(p.set & POLICY_BIT(lists[i].field)))
			strv_done(lists[i].list);
	struct err e = { 0 };
	if (policy_resolve_paths(&p, &place, &e) < 0)
		fail_msg("%s", e.message);
	return p;
}

/* ---- canonical text ---- */

/* Two ways to write the same: a grant that is denied altogether is none; a denial of what is not granted is idle; a host list
 * needs no allowNetwork; no denials and none stated are the same. The directory is no part of the order. */
static char *canonical(const struct policy *from)
{
	struct policy p;
	assert_int_equal(policy_copy(from, &p), 0);
	p.set &= ~POLICY_BIT(FIELD_CWD);
	struct strv *grants[] = { &p.read_paths, &p.write_paths };
	for (size_t g = 0; g < 2; g++)
		for (size_t i = grants[g]->n; i-- > 0;)
			for (size_t d = 0; d < p.denied_paths.n; d++)
				if (path_is_within(grants[g]->v[i], p.denied_paths.v[d])) {
					strv_remove(grants[g], i);
					break;
				}
	for (size_t d = p.denied_paths.n; d-- > 0;) {
		bool used = !(p.set & POLICY_BIT(FIELD_READ));
		for (size_t g = 0; g < 2; g++)
			for (size_t i = 0; i < grants[g]->n; i++)
				used = used || path_is_within(p.denied_paths.v[d], grants[g]->v[i]);
		if (!used)
			strv_remove(&p.denied_paths, d);
	}
	p.set &= ~(p.denied_paths.n ? 0 : POLICY_BIT(FIELD_DENIED));
	p.set &= ~(p.blocked_commands.n ? 0 : POLICY_BIT(FIELD_BLOCKED_COMMANDS));
	if (p.set & POLICY_BIT(FIELD_HOSTS) && p.allowed_hosts.n)
		p.set |= POLICY_BIT(FIELD_NETWORK), p.allow_network = true;
	struct buf text = BUF_MAX(1 << 16);
	assert_int_equal(policy_to_json(&p, &text), 0);
	policy_done(&p);
	return buf_take(&text);
}

static char *plain(const struct policy *p)
{
	struct buf text = BUF_MAX(1 << 16);
	assert_int_equal(policy_to_json(p, &text), 0);
	return buf_take(&text);
}

static struct policy meet(const struct policy *a, const struct policy *b)
{
	struct policy met;
	struct err e = { 0 };
	if (policy_meet(a, b, &met, &e) < 0)
		fail_msg("%s", e.message);
	return met;
}

static void assert_within(const struct policy *a, const struct policy *b, const char *law)
{
	struct strv excess = { 0 };
	if (policy_within(a, b, &excess) != 1) {
		autoclean(free_done) char *ta = plain(a);
		autoclean(free_done) char *tb = plain(b);
		fail_msg("%s: %s\n%s\nnot within\n%s", law, excess.n ? excess.v[0] : "?", ta, tb);
	}
	strv_done(&excess);
}

static void assert_same(const struct policy *a, const struct policy *b, const char *law)
{
	autoclean(free_done) char *ta = plain(a);
	autoclean(free_done) char *tb = plain(b);
	if (strcmp(ta, tb) != 0)
		fail_msg("%s:\n%s\nis not\n%s", law, ta, tb);
}

/* Each law on `rounds` triples, half of them with fields left open. */
static void each_triple(unsigned rounds, void (*law)(const struct policy *, const struct policy *, const struct policy *))
{
	for (unsigned i = 0; i < rounds; i++) {
		autoclean(policy_done) struct policy a = generate(i & 1);
		autoclean(policy_done) struct policy b = generate(i & 1);
		autoclean(policy_done) struct policy c = generate(i & 1);
		law(&a, &b, &c);
	}
}

/* ---- the laws of meet ---- */

static void check_meet(const struct policy *a, const struct policy *b, const struct policy *c)
{
	autoclean(policy_done) struct policy ab = meet(a, b);
	autoclean(policy_done) struct policy ba = meet(b, a);
	autoclean(policy_done) struct policy aa = meet(a, a);
	autoclean(policy_done) struct policy bc = meet(b, c);
	autoclean(policy_done) struct policy left = meet(&ab, c);
	autoclean(policy_done) struct policy right = meet(a, &bc);
	assert_same(&ab, &ba, "commutative");
	assert_same(&left, &right, "associative");
	assert_same(&aa, a, "idempotent");
	assert_within(&ab, a, "not wider than the first");
	assert_within(&ab, b, "not wider than the second");
}

static void test_meet(void **state)
{
	(void)state;
	each_triple(2000, check_meet);
}

/* Whatever is within both is within the meet: nothing is lost that both allow. */
static void check_greatest(const struct policy *a, const struct policy *b, const struct policy *c)
{
	autoclean(policy_done) struct policy ab = meet(a, b);
	autoclean(policy_done) struct policy below = meet(&ab, c);
	assert_within(&below, &ab, "below the meet");
	if (policy_within(c, a, NULL) == 1 && policy_within(c, b, NULL) == 1)
		assert_within(c, &ab, "greatest lower bound");
	/* c met with a is within a; is it within b as well, it is within the meet. */
	autoclean(policy_done) struct policy ac = meet(a, c);
	if (policy_within(&ac, b, NULL) == 1)
		assert_within(&ac, &ab, "greatest lower bound");
	/* a within b says exactly that a is their meet. */
	autoclean(free_done) char *text_ab = canonical(&ab);
	autoclean(free_done) char *text_a = canonical(a);
	if (policy_within(a, b, NULL) == 1)
		assert_string_equal(text_ab, text_a);
}

static void test_greatest(void **state)
{
	(void)state;
	each_triple(2000, check_greatest);
}

/* ---- the laws of within ---- */

static unsigned transitive_cases, equal_cases;

static void check_order(const struct policy *a, const struct policy *b, const struct policy *c)
{
	assert_within(a, a, "reflexive");
	/* Chains do not come by chance: take a ≥ a∧b ≥ a∧b∧c, and whatever does come. */
	autoclean(policy_done) struct policy ab = meet(a, b);
	autoclean(policy_done) struct policy abc = meet(&ab, c);
	const struct policy *all[] = { a, b, c, &ab, &abc };
	for (size_t x = 0; x < COUNT_OF(all); x++)
		for (size_t y = 0; y < COUNT_OF(all); y++) {
			if (policy_within(all[x], all[y], NULL) != 1)
				continue;
			for (size_t z = 0; z < COUNT_OF(all); z++)
				if (x != y && y != z && policy_within(all[y], all[z], NULL) == 1) {
					transitive_cases++;
					assert_within(all[x], all[z], "transitive");
				}
			if (x != y && policy_within(all[y], all[x], NULL) == 1) {
				autoclean(free_done) char *tx = canonical(all[x]);
				autoclean(free_done) char *ty = canonical(all[y]);
				equal_cases++;
				assert_string_equal(tx, ty);
			}
		}
}

static void test_order(void **state)
{
	(void)state;
	each_triple(6000, check_order);
	assert_true(transitive_cases > 1000); /* the laws were really put to the test */
	assert_true(equal_cases > 5);
}

/* ---- what the sets mean, asked point by point ---- */

/* Every place of the small world, and one below each. */
static const char *const points[] = { "",     "/a",     "/a/b", "/a/b/c", "/a/b/c/x", "/a/missing", "/a/b/missing/x",
				      "/a-b", "/a-b/x", "/d",   "/d/x",   "/x",       "/a/x",       "/a/b/x" };

static bool in(const struct strv *set, const char *path)
{
	for (size_t i = 0; i < set->n; i++)
		if (path_is_within(path, set->v[i]))
			return true;
	return false;
}

static bool may_write(const struct policy *p, const char *path)
{
	bool granted = p->set & POLICY_BIT(FIELD_WRITE)  ? in(&p->write_paths, path)
		       : p->set & POLICY_BIT(FIELD_READ) ? in(&p->read_paths, path)
							 : true;
	return granted && !in(&p->denied_paths, path);
}

static bool may_read(const struct policy *p, const char *path)
{
	bool granted = !(p->set & POLICY_BIT(FIELD_READ)) || in(&p->read_paths, path);
	return (granted && !in(&p->denied_paths, path)) || (p->set & POLICY_BIT(FIELD_WRITE) && may_write(p, path));
}

static void check_points(const struct policy *a, const struct policy *b, const struct policy *c)
{
	(void)c;
	autoclean(policy_done) struct policy ab = meet(a, b);
	bool a_within_b = policy_within(a, b, NULL) == 1;
	for (size_t i = 0; i < COUNT_OF(points); i++) {
		char path[128];
		snprintf(path, sizeof path, "%s%s", tree, points[i]);
		assert_int_equal(may_read(&ab, path), may_read(a, path) && may_read(b, path));
		assert_int_equal(may_write(&ab, path), may_write(a, path) && may_write(b, path));
		if (in(&a->denied_paths, path) || in(&b->denied_paths, path)) /* a deny beats every allow */
			assert_false(may_read(&ab, path) || may_write(&ab, path));
		if (a_within_b) {
			assert_true(!may_read(a, path) || may_read(b, path));
			assert_true(!may_write(a, path) || may_write(b, path));
		}
	}
}

static void test_points(void **state)
{
	(void)state;
	each_triple(3000, check_points);
}

/* within says no only where there is a point that a grants and b does not: with nothing but paths in the policies. */
static void check_exact(const struct policy *a, const struct policy *b, const struct policy *c)
{
	(void)c;
	struct policy pa = *a, pb = *b;
	pa.set = pb.set = POLICY_BIT(FIELD_READ) | POLICY_BIT(FIELD_WRITE) | POLICY_BIT(FIELD_DENIED);
	bool excess = may_read(&pa, "/") > may_read(&pb, "/") || may_write(&pa, "/") > may_write(&pb, "/");
	for (size_t i = 0; i < COUNT_OF(points); i++) {
		char path[128];
		snprintf(path, sizeof path, "%s%s", tree, points[i]);
		excess = excess || may_read(&pa, path) > may_read(&pb, path) || may_write(&pa, path) > may_write(&pb, path);
	}
	assert_int_equal(policy_within(&pa, &pb, NULL), !excess);
}

static void test_exact(void **state)
{
	(void)state;
	each_triple(3000, check_exact);
}

/* ---- by hand ---- */

static struct policy layer(const char *json)
{
	struct policy p;
	struct err e = { 0 };
	if (policy_from_json(json, strlen(json), "layer", &p, &e) < 0)
		fail_msg("%s", e.message);
	return p;
}

static const struct {
	const char *a, *b;
	const char *excess; /* NULL: a is within b */
} orders[] = {
	{ "{\"isolationLevel\":\"container\"}", "{\"isolationLevel\":\"process\"}", NULL },
	{ "{\"isolationLevel\":\"process\"}", "{\"isolationLevel\":\"container\"}",
	  "isolationLevel: process is weaker than container" },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":256}}", "{\"resourceLimits\":{\"maxMemoryMB\":256}}", NULL },
	{ "{\"resourceLimits\":{\"maxMemoryMB\":512}}", "{\"resourceLimits\":{\"maxMemoryMB\":256}}",
	  "resourceLimits.maxMemoryMB: 512 is more than 256" },
	{ "{\"resourceLimits\":{\"timeoutMs\":null}}", "{\"resourceLimits\":{\"timeoutMs\":5}}",
	  "resourceLimits.timeoutMs: unlimited is more than 5" },
	{ "{\"resourceLimits\":{\"timeoutMs\":5}}", "{\"resourceLimits\":{\"timeoutMs\":null}}", NULL },
	{ "{}", "{\"resourceLimits\":{\"timeoutMs\":5}}", "resourceLimits.timeoutMs: is left open, where there is a ceiling" },
	{ "{\"allowNetwork\":true}", "{\"allowNetwork\":false}", "allowNetwork: every host, where no network is allowed" },
	{ "{\"allowNetwork\":false}", "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org\"]}", NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"www.x.org:443\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"*.X.org\"]}",
	  NULL },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"*.x.org\"]}",
	  "allowedHosts: x.org is not among the allowed hosts" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"notx.org\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"*.x.org\"]}",
	  "allowedHosts: notx.org is not among the allowed hosts" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"g\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"*.org\"]}",
	  "allowedHosts: g is not among the allowed hosts" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org:443\"]}",
	  "allowedHosts: x.org is not among the allowed hosts" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org:22\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org\"]}",
	  "allowedHosts: x.org:22 is not among the allowed hosts" },
	{ "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org:80\"]}", "{\"allowNetwork\":true,\"allowedHosts\":[\"x.org\"]}", NULL },
	{ "{\"allowedReadPaths\":[\"/usr/lib\"]}", "{\"allowedReadPaths\":[\"/usr\"]}", NULL },
	{ "{\"allowedReadPaths\":[\"/usrlocal\"]}", "{\"allowedReadPaths\":[\"/usr\"]}",
	  "allowedReadPaths: /usrlocal is not within what may be read" },
	{ "{\"allowedReadPaths\":[],\"allowedWritePaths\":[\"/x\"]}", "{\"allowedReadPaths\":[\"/\"],\"allowedWritePaths\":[]}",
	  "allowedWritePaths: /x is not within what may be written" },
	{ "{\"allowedReadPaths\":[\"/x\"]}", "{\"allowedReadPaths\":[\"/x\"],\"deniedPaths\":[\"/x/key\"]}",
	  "deniedPaths: /x/key has to stay denied" },
	{ "{\"allowedReadPaths\":[\"/x\"],\"deniedPaths\":[\"/x/key\"]}",
	  "{\"allowedReadPaths\":[\"/x\"],\"deniedPaths\":[\"/x/key\"]}", NULL },
	{ "{\"allowedReadPaths\":[\"/x/a\"]}", "{\"allowedReadPaths\":[\"/x\"],\"deniedPaths\":[\"/x/key\"]}", NULL },
	{ "{\"allowedReadPaths\":[\"/x/key/a\"]}", "{\"allowedReadPaths\":[\"/x\"],\"deniedPaths\":[\"/x/key\"]}",
	  "deniedPaths: /x/key/a is denied" },
	{ "{\"environment\":{\"K\":\"secret\"}}", "{\"environment\":{\"K\":\"other\"}}",
	  "environment: K is not allowed with this value" },
	{ "{\"allowedCommands\":[]}", "{\"allowedCommands\":[\"git\"]}", NULL },
	{ "{\"allowedCommands\":[\"git\",\"rm\"]}", "{\"allowedCommands\":[\"git\"]}", "allowedCommands: rm is not allowed" },
	{ "{\"blockedCommands\":[\"rm\"]}", "{\"blockedCommands\":[]}", NULL },
	{ "{}", "{\"blockedCommands\":[\"rm\"]}", "blockedCommands: rm has to stay blocked" },
	{ "{\"security\":{\"seccompProfile\":\"strict\"}}", "{\"security\":{\"seccompProfile\":\"default\"}}", NULL },
	{ "{\"security\":{\"seccompProfile\":\"none\"}}", "{\"security\":{\"seccompProfile\":\"default\"}}",
	  "security.seccompProfile: the filter default is missing" },
	{ "{\"security\":{\"noNewPrivileges\":false}}", "{\"security\":{\"noNewPrivileges\":true}}",
	  "security.noNewPrivileges: false where it has to be true" },
	{ "{\"security\":{\"userId\":null}}", "{\"security\":{\"userId\":65534}}", "security.userId: any may do more than 65534" },
	{ "{\"security\":{\"userId\":65534}}", "{\"security\":{\"userId\":1000}}", NULL },
};

static void test_orders(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(orders); i++) {
		autoclean(policy_done) struct policy a = layer(orders[i].a);
		autoclean(policy_done) struct policy b = layer(orders[i].b);
		autoclean(strv_done) struct strv excess = { 0 };
		int within = policy_within(&a, &b, &excess);
		if (within != !orders[i].excess)
			fail_msg("%s within %s: %d", orders[i].a, orders[i].b, within);
		if (orders[i].excess)
			assert_string_equal(excess.v[0], orders[i].excess);
		assert_int_equal(excess.n, orders[i].excess ? 1 : 0);
	}
}

static void test_meets(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b, *met;
	} rows[] = {
		{ "{\"allowedHosts\":[\"x.org\"]}", "{\"allowedHosts\":[\"y.org\"]}",
		  "{\"schemaVersion\":1,\"allowNetwork\":false}" },
		{ "{\"allowedHosts\":[\"*.x.org\"]}",
		  "{\"allowedHosts\":[\"www.x.org\",\"*.a.x.org:443\",\"b.x.org:1\",\"x.org\"]}",
		  "{\"schemaVersion\":1,\"allowedHosts\":[\"*.a.x.org:443\",\"www.x.org\"]}" },
		{ "{\"allowedHosts\":[\"*.x.org:443\"]}", "{\"allowedHosts\":[\"www.x.org\"]}",
		  "{\"schemaVersion\":1,\"allowedHosts\":[\"www.x.org:443\"]}" },
		/* A ceiling on reading holds writing, too. */
		{ "{\"allowedReadPaths\":[\"/a\"]}", "{\"allowedReadPaths\":[\"/c\"],\"allowedWritePaths\":[\"/a/w\",\"/b\"]}",
		  "{\"schemaVersion\":1,\"allowedReadPaths\":[],\"allowedWritePaths\":[\"/a/w\"]}" },
		{ "{\"allowedCommands\":[\"a\"]}", "{\"allowedCommands\":[\"b\"]}",
		  "{\"schemaVersion\":1,\"allowedCommands\":[]}" },
		{ "{\"security\":{\"seccompProfile\":[\"default\",\"/f.json\"]}}", "{\"security\":{\"seccompProfile\":\"strict\"}}",
		  "{\"schemaVersion\":1,\"security\":{\"seccompProfile\":[\"/f.json\",\"strict\"]}}" },
		{ "{\"security\":{\"userId\":1000}}", "{\"security\":{\"userId\":2000}}",
		  "{\"schemaVersion\":1,\"security\":{\"userId\":2000}}" },
		{ "{\"workingDirectory\":\"/b\"}", "{\"workingDirectory\":\"/a\"}",
		  "{\"schemaVersion\":1,\"workingDirectory\":\"/a\"}" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		autoclean(policy_done) struct policy a = layer(rows[i].a);
		autoclean(policy_done) struct policy b = layer(rows[i].b);
		autoclean(policy_done) struct policy met = meet(&a, &b);
		autoclean(free_done) char *text = plain(&met);
		char *to = text;
		for (const char *c = text; *c; c++)
			if (*c != ' ' && *c != '\n')
				*to++ = *c;
		*to = '\0';
		assert_string_equal(text, rows[i].met);
	}
}

/* Two spellings of one place cannot be compared, so nobody may try. */
static void test_unresolved(void **state)
{
	(void)state;
	static const char *const spellings[] = { "a", "./a", "/a/", "/a/../b", "/a//b", "/a/.", "~", "@system" };
	autoclean(policy_done) struct policy fine = layer("{\"allowedReadPaths\":[\"/a\"]}");
	assert_int_equal(policy_within(&fine, &fine, NULL), 1);
	for (size_t i = 0; i < COUNT_OF(spellings); i++) {
		autoclean(policy_done) struct policy p = { .set = POLICY_BIT(FIELD_READ) };
		assert_int_equal(strv_add(&p.read_paths, spellings[i]), 0);
		struct policy met;
		struct err e = { 0 };
		assert_int_equal(policy_meet(&p, &fine, &met, &e), -EINVAL);
		assert_int_equal(e.code, ERR_INTERNAL);
		assert_int_equal(policy_within(&fine, &p, NULL), -EINVAL);
	}
}

static void test_overlay(void **state)
{
	(void)state;
	autoclean(policy_done) struct policy base = layer("{\"allowNetwork\":true,\"allowedHosts\":[\"x.org\"],"
							  "\"allowedReadPaths\":[\"/a\"],\"environment\":{\"A\":\"1\",\"B\":\"1\"},"
							  "\"allowedCommands\":[\"a\"],\"blockedCommands\":[\"a\"]}");
	autoclean(policy_done) struct policy over = layer("{\"allowNetwork\":false,\"allowedReadPaths\":[\"/b\",\"/"
							  "a\"],\"environment\":{\"B\":\"2\"},\"allowedCommands\":[\"b\"],"
							  "\"blockedCommands\":[\"b\"],\"workingDirectory\":\"/w\"}");
	assert_int_equal(policy_overlay(&base, &over, NULL), 0);
	assert_false(base.allow_network);
	assert_int_equal(base.allowed_hosts.n, 0);
	assert_int_equal(base.read_paths.n, 2);
	assert_string_equal(base.environment.v[0], "A=1");
	assert_string_equal(base.environment.v[1], "B=2");
	assert_int_equal(base.environment.n, 2);
	assert_int_equal(base.allowed_commands.n, 1);
	assert_string_equal(base.allowed_commands.v[0], "b");
	assert_int_equal(base.blocked_commands.n, 2);
	assert_string_equal(base.working_directory, "/w");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meet),   cmocka_unit_test(test_greatest),   cmocka_unit_test(test_order),
		cmocka_unit_test(test_points), cmocka_unit_test(test_exact),      cmocka_unit_test(test_orders),
		cmocka_unit_test(test_meets),  cmocka_unit_test(test_unresolved), cmocka_unit_test(test_overlay),
	};
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
