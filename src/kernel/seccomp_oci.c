#include "kernel/seccomp_oci.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/str.h"
#include "kernel/seccomp.h"
#include "kernel/seccomp_rules.h"

/* What the profiles call this machine. */
#if defined(__x86_64__)
#define GO_ARCH "amd64"
#define SCMP_NAME "SCMP_ARCH_X86_64"
#define NATIVE_AUDIT_ARCH AUDIT_ARCH_X86_64
#else
#define GO_ARCH "arm64"
#define SCMP_NAME "SCMP_ARCH_AARCH64"
#define NATIVE_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

enum {
	MAX_COMPARING = 512, /* rules; the largest profile known has 20 */
	MAX_ERRNO = 4095,    /* the kernel cuts larger ones */
	MAX_NUMBER = 1024,
};

struct profile {
	uint32_t default_action;
	/* Rules without comparisons, by number: the strictest action, where there is one. */
	struct {
		bool given;
		uint32_t action;
	} plain[MAX_NUMBER];
	struct seccomp_rule *comparing; /* room for MAX_COMPARING, and as many again for the plain rules of the same calls */
	size_t comparing_count;
};

static void filter_done(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* ---- actions ---- */

_Static_assert(SCMP_ACT_ALLOW == SECCOMP_RET_ALLOW && SCMP_ACT_KILL_PROCESS == SECCOMP_RET_KILL_PROCESS,
	       "libseccomp's are the kernel's");

static const struct {
	const char *name;
	uint32_t action;
	const char *refused; /* why, if it is */
} actions[] = {
	{ "SCMP_ACT_ALLOW", SCMP_ACT_ALLOW, NULL },
	{ "SCMP_ACT_ERRNO", SCMP_ACT_ERRNO(0), NULL },
	{ "SCMP_ACT_KILL", SCMP_ACT_KILL_PROCESS, NULL },
	{ "SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS, NULL },
	{ "SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD, NULL },
	{ "SCMP_ACT_TRAP", SCMP_ACT_TRAP, NULL },
	{ "SCMP_ACT_LOG", SCMP_ACT_LOG, NULL },
	{ "SCMP_ACT_TRACE", 0, "nobody traces a run; SCMP_ACT_ERRNO has the same effect" },
	{ "SCMP_ACT_NOTIFY", 0, "the listener of a run is cordon's own; use SCMP_ACT_ERRNO" },
};

static const struct {
	const char *name;
	enum seccomp_compare op;
} compares[] = {
	{ "SCMP_CMP_NE", SECCOMP_COMPARE_NE },
	{ "SCMP_CMP_LT", SECCOMP_COMPARE_LT },
	{ "SCMP_CMP_LE", SECCOMP_COMPARE_LE },
	{ "SCMP_CMP_EQ", SECCOMP_COMPARE_EQ },
	{ "SCMP_CMP_GE", SECCOMP_COMPARE_GE },
	{ "SCMP_CMP_GT", SECCOMP_COMPARE_GT },
	{ "SCMP_CMP_MASKED_EQ", SECCOMP_COMPARE_MASKED_EQ },
};

/* The row of a table (of structs that begin with their name) that `at` names: its index, or -1 and an error. */
static int find_name(const struct json_at *at, const void *table, size_t count, size_t row_size)
{
	const char *word, *names[16];
	if (!json_string(at, &word))
		return -1;
	for (size_t i = 0; i < count && i < COUNT_OF(names); i++) {
		memcpy(&names[i], (const char *)table + i * row_size, sizeof names[i]);
		if (str_equal(word, names[i]))
			return (int)i;
	}
	const char *nearest = str_nearest(word, names, count);
	autoclean(free_done) char *hint = str_format("did you mean \"%s\"?", nearest ? nearest : names[0]);
	json_fail(at, hint, "unknown value \"%s\"", word);
	return -1;
}

/* errnoRet is a number, errno (of podman's files) its name; where both are given they must agree. */
static int read_errno(const struct json_at *number_at, const struct json_at *name_at)
{
	int64_t number = EPERM;
	const char *name;
	bool given = json_present(number_at) && json_int(number_at, 0, MAX_ERRNO, &number);
	if (!json_present(name_at) || !json_string(name_at, &name) || name[0] == '\0')
		return (int)number;
	for (int i = 1; i < 256; i++) {
		if (!str_equal(names_errno(i), name))
			continue;
		if (given && i != number)
			json_fail(name_at, "drop one of the two", "\"%s\" is %d, but the number given is %d", name, i, (int)number);
		return i;
	}
	json_fail(name_at, "write it as in errno(3): \"EPERM\"", "unknown error \"%s\"", name);
	return EPERM;
}

static bool read_action(const struct json_at *object, const char *key, const char *number_key, const char *name_key, uint32_t *ret)
{
	struct json_at at = json_member(object, key);
	if (!json_present(&at)) {
		json_fail(&at, "say for example \"SCMP_ACT_ERRNO\"", "it is missing");
		return false;
	}
	int i = find_name(&at, actions, COUNT_OF(actions), sizeof actions[0]);
	if (i < 0)
		return false;
	if (actions[i].refused) {
		json_fail(&at, actions[i].refused, "\"%s\" does not work in cordon", actions[i].name);
		return false;
	}
	struct json_at number = json_member(object, number_key), name = json_member(object, name_key);
	int errnum = read_errno(&number, &name); /* looked at in any case: a wrong one is wrong with every action */
	*ret = actions[i].action == SCMP_ACT_ERRNO(0) ? SCMP_ACT_ERRNO((uint32_t)errnum) : actions[i].action;
	return true;
}

/* ---- does a block apply here? ---- */

static bool parse_version(const char *text, unsigned long ret[2])
{
	char *end;
	ret[0] = strtoul(text, &end, 10);
	if (end == text || *end != '.')
		return false;
	const char *minor = end + 1;
	ret[1] = strtoul(minor, &end, 10);
	return end != minor;
}

static bool kernel_is_at_least(const struct json_at *at, const char *wanted)
{
	unsigned long want[2], have[2];
	struct utsname host;
	if (!parse_version(wanted, want)) {
		json_fail(at, "write it as \"4.8\"", "\"%s\" is no kernel version", wanted);
		return false;
	}
	if (uname(&host) < 0 || !parse_version(host.release, have))
		return false;
	return have[0] != want[0] ? have[0] > want[0] : have[1] >= want[1];
}

/* The conditions of includes or excludes; each is -1 when it is not there, else whether it is met. */
struct conditions {
	int caps, arches, kernel;
};

static struct conditions read_conditions(const struct json_at *block, const char *key)
{
	static const char *const keys[] = { "caps", "arches", "minKernel" };
	struct conditions met = { -1, -1, -1 };
	struct json_at at = json_member(block, key);
	if (!json_present(&at) || !json_object(&at, keys, COUNT_OF(keys)))
		return met;
	struct json_at caps_at = json_member(&at, "caps"), arches_at = json_member(&at, "arches"),
		       kernel_at = json_member(&at, "minKernel");
	autoclean(strv_done) struct strv caps = { 0 };
	autoclean(strv_done) struct strv arches = { 0 };
	const char *version;
	if (json_present(&caps_at) && json_strings(&caps_at, &caps) && caps.n > 0)
		met.caps = false; /* a run has none */
	if (json_present(&arches_at) && json_strings(&arches_at, &arches) && arches.n > 0)
		met.arches = strv_has(&arches, GO_ARCH);
	if (json_present(&kernel_at) && json_string(&kernel_at, &version) && version[0] != '\0')
		met.kernel = kernel_is_at_least(&kernel_at, version);
	return met;
}

static bool applies(const struct json_at *block)
{
	struct conditions includes = read_conditions(block, "includes"), excludes = read_conditions(block, "excludes");
	return includes.caps != 0 && includes.arches != 0 && includes.kernel != 0 && excludes.caps != 1 && excludes.arches != 1 &&
	       excludes.kernel != 1;
}

/* ---- rules ---- */

struct comparisons {
	struct seccomp_comparison v[6];
	unsigned n;
	bool twice; /* some argument has two */
};

static bool read_comparison(struct json_at *at, struct seccomp_comparison *ret)
{
	static const char *const keys[] = { "index", "value", "valueTwo", "op" };
	if (!json_object(at, keys, COUNT_OF(keys)))
		return false;
	int64_t index = -1, value = 0, value_two = 0;
	struct json_at index_at = json_member(at, "index"), value_at = json_member(at, "value"),
		       two_at = json_member(at, "valueTwo"), op_at = json_member(at, "op");
	json_int(&index_at, 0, 5, &index);
	json_int(&value_at, 0, INT64_MAX, &value);
	if (json_present(&two_at))
		json_int(&two_at, 0, INT64_MAX, &value_two);
	int op = find_name(&op_at, compares, COUNT_OF(compares), sizeof compares[0]);
	if (index < 0 || op < 0 || !json_present(&value_at)) {
		json_fail(at, "give index (0 to 5), value and op", "an argument's comparison is incomplete");
		return false;
	}
	*ret = (struct seccomp_comparison){ (unsigned)index, compares[op].op, (uint64_t)value, (uint64_t)value_two };
	return true;
}

static bool read_comparisons(const struct json_at *block, struct comparisons *ret)
{
	struct json_at args = json_member(block, "args"), item;
	unsigned seen = 0;
	if (!json_present(&args))
		return true;
	if (!json_is_array(&args)) {
		json_fail(&args, "give a list of {index, value, valueTwo, op}", "it must be an array");
		return false;
	}
	for (size_t i = 0; json_each(&args, i, NULL, &item); i++) {
		if (ret->n == COUNT_OF(ret->v)) {
			json_fail(&args, "split the block", "more than %zu comparisons", COUNT_OF(ret->v));
			return false;
		}
		struct seccomp_comparison *comparison = &ret->v[ret->n];
		if (!read_comparison(&item, comparison))
			return false;
		ret->twice |= (seen & 1U << comparison->argument) != 0;
		seen |= 1U << comparison->argument;
		ret->n++;
	}
	return true;
}

static void add_comparing(struct profile *p, const struct json_at *at, uint32_t action, int number,
			  const struct seccomp_comparison *v, unsigned n)
{
	if (p->comparing_count == MAX_COMPARING) {
		json_fail(at, "use fewer", "more than %d rules that compare arguments", MAX_COMPARING);
		return;
	}
	struct seccomp_rule *rule = &p->comparing[p->comparing_count++];
	*rule = (struct seccomp_rule){ .number = number, .action = action, .count = n };
	memcpy(rule->comparisons, v, n * sizeof v[0]);
}

static void add_call(struct profile *p, const struct json_at *at, uint32_t action, const char *name, const struct comparisons *c)
{
	int number = seccomp_syscall_number(name);
	if (number < 0 || number >= MAX_NUMBER)
		return;
	if (c->n == 0) {
		if (!p->plain[number].given || seccomp_compare_actions(action, p->plain[number].action) < 0)
			p->plain[number].action = action;
		p->plain[number].given = true;
		return;
	}
	/* Several comparisons of one argument are alternatives, as in runc. */
	for (unsigned i = 0; c->twice && i < c->n; i++)
		add_comparing(p, at, action, number, &c->v[i], 1);
	if (!c->twice)
		add_comparing(p, at, action, number, c->v, c->n);
}

static void read_block(struct profile *p, struct json_at *block)
{
	static const char *const keys[] = { "names", "name",    "action",   "errnoRet", "errno",
					    "args",  "comment", "includes", "excludes" };
	uint32_t action;
	struct comparisons comparisons = { .n = 0 };
	if (!json_object(block, keys, COUNT_OF(keys)) || !read_action(block, "action", "errnoRet", "errno", &action) ||
	    !read_comparisons(block, &comparisons))
		return;
	struct json_at names_at = json_member(block, "names"), name_at = json_member(block, "name");
	autoclean(strv_done) struct strv names = { 0 };
	const char *name;
	if (json_present(&names_at) == json_present(&name_at)) {
		json_fail(block, "give \"names\": [\"read\", …]", "a block needs either \"names\" or \"name\"");
		return;
	}
	bool apply = applies(block); /* looked at in any case */
	if (json_present(&names_at))
		json_strings(&names_at, &names);
	else if (json_string(&name_at, &name) && apply)
		add_call(p, block, action, name, &comparisons);
	for (size_t i = 0; apply && i < names.n; i++)
		add_call(p, block, action, names.v[i], &comparisons);
}

static void read_blocks(struct profile *p, const struct json_at *top)
{
	struct json_at syscalls = json_member(top, "syscalls"), block;
	if (json_present(&syscalls) && !json_is_array(&syscalls))
		json_fail(&syscalls, "give a list of blocks", "it must be an array");
	for (size_t i = 0; json_present(&syscalls) && json_each(&syscalls, i, NULL, &block); i++)
		read_block(p, &block);
}

/* ---- the top ---- */

/* An OCI `architectures` list without this machine belongs to another one. Docker's archMap says only which others to add. */
static void check_architectures(const struct json_at *top)
{
	struct json_at at = json_member(top, "architectures"), map = json_member(top, "archMap"), item;
	autoclean(strv_done) struct strv names = { 0 };
	if (json_present(&at) && json_strings(&at, &names) && names.n > 0 && !strv_has(&names, SCMP_NAME))
		json_fail(&at, "add \"" SCMP_NAME "\", or use a profile for this machine", "this machine is not among them");
	for (size_t i = 0; json_present(&map) && json_each(&map, i, NULL, &item); i++) {
		static const char *const keys[] = { "architecture", "subArchitectures" };
		json_object(&item, keys, COUNT_OF(keys));
	}
}

/* Known and without effect here: threads are synchronised by there being one, and logging is not ours to switch. */
static void check_flags(const struct json_at *top)
{
	static const struct {
		const char *name;
	} flags[] = { { "SECCOMP_FILTER_FLAG_TSYNC" },
		      { "SECCOMP_FILTER_FLAG_LOG" },
		      { "SECCOMP_FILTER_FLAG_SPEC_ALLOW" },
		      { "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV" } };
	struct json_at at = json_member(top, "flags"), item;
	for (size_t i = 0; json_present(&at) && json_each(&at, i, NULL, &item); i++)
		find_name(&item, flags, COUNT_OF(flags), sizeof flags[0]);
}

/* ---- the program ---- */

/* The rules without comparisons, by libseccomp. */
static int make_plain(const struct profile *p, scmp_filter_ctx *ret, struct err *e)
{
	autoclean(filter_done) scmp_filter_ctx filter = seccomp_init(p->default_action);
	if (!filter)
		return err_nomem(e);
	int result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree; an older libseccomp makes a list, which is only slower */
	for (int i = 0; i < MAX_NUMBER && result >= 0; i++)
		if (p->plain[i].given && p->plain[i].action != p->default_action)
			result = seccomp_rule_add(filter, p->plain[i].action, i, 0);
	if (result < 0)
		return err_set(e, ERR_UNSUPPORTED, -result, "seccomp", "libseccomp does not take a rule");
	*ret = TAKE(filter);
	return 0;
}

static int export_plain(scmp_filter_ctx filter, struct buf *out)
{
	autoclean(fd_done) int fd = memfd_create("seccomp", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	TRY(seccomp_export_bpf(filter, fd));
	autoclean(buf_done) struct buf bytes = BUF_MAX(BPF_MAXINSNS * sizeof(struct sock_filter));
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	TRY(fd_read_all(fd, &bytes));
	buf_add(out, bytes.data, bytes.size);
	return buf_check(out) < 0 ? -E2BIG : 0;
}

/* A call with comparisons is answered in front, so its plain rule must be known there, too. */
static size_t add_plain_to_comparing(struct profile *p)
{
	size_t count = p->comparing_count;
	for (size_t i = 0; i < p->comparing_count; i++) {
		int number = p->comparing[i].number;
		if (p->plain[number].given)
			p->comparing[count++] = (struct seccomp_rule){ .number = number, .action = p->plain[number].action };
	}
	return count;
}

static int make_program(struct profile *p, const char *name, struct buf *ret, struct err *e)
{
	autoclean(filter_done) scmp_filter_ctx filter = NULL;
	autoclean(buf_done) struct buf program = BUF_MAX(BPF_MAXINSNS * sizeof(struct sock_filter));
	TRY(make_plain(p, &filter, e));
	int result = seccomp_rules_compile(p->comparing, add_plain_to_comparing(p), p->default_action, NATIVE_AUDIT_ARCH, &program);
	if (result >= 0)
		result = export_plain(filter, &program);
	if (result == -E2BIG || result == -EFBIG) {
		err_set(e, ERR_CONFIG, E2BIG, "seccomp", "the filter of %s has more than %d instructions", name, BPF_MAXINSNS);
		return err_hint(e, -E2BIG, "use fewer rules that compare arguments");
	}
	if (result < 0)
		return err_set(e, ERR_IO, -result, "seccomp", "cannot compile %s", name);
	*ret = program;
	program = BUF_MAX(0);
	return 0;
}

static int compile(struct json_doc *doc, const char *name, struct buf *ret_program, struct err *e)
{
	static const char *const keys[] = { "defaultAction", "defaultErrnoRet", "defaultErrno", "archMap",          "architectures",
					    "syscalls",      "flags",           "listenerPath", "listenerMetadata", "comment" };
	autoclean(free_done) struct seccomp_rule *comparing = calloc(2 * (size_t)MAX_COMPARING, sizeof *comparing);
	if (!comparing)
		return err_nomem(e);
	struct profile p = { .comparing = comparing };
	struct json_at top = json_top(doc);
	if (!json_object(&top, keys, COUNT_OF(keys)) ||
	    !read_action(&top, "defaultAction", "defaultErrnoRet", "defaultErrno", &p.default_action))
		return json_finish(doc, e);
	check_architectures(&top);
	check_flags(&top);
	read_blocks(&p, &top);
	TRY(json_finish(doc, e));
	return make_program(&p, name, ret_program, e);
}

int seccomp_from_oci_text(const char *text, size_t length, const char *name, struct buf *ret_program, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	TRY(json_parse(text, length, name, &doc, e));
	return compile(doc, name, ret_program, e);
}

int seccomp_from_oci(const char *path, struct buf *ret_program, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	TRY(json_parse_file(path, &doc, e));
	return compile(doc, path, ret_program, e);
}
