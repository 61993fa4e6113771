/* cordon profiles: the built-in ones as a table, or one of them, or a file, in full. */
#include "front/cli/args.h"

#include <string.h>

#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"

static int add_full(const char *name, struct buf *out, struct err *e)
{
	autoclean(policy_done) struct policy p = { 0 };
	bool file = strchr(name, '/') || str_ends(name, ".json");
	TRY(file ? policy_from_file(name, &p, e) : policy_profile(name, &p, e));
	return policy_to_json(&p, out) < 0 ? err_nomem(e) : 0;
}

static int add_row(const char *name, const char *summary, struct buf *out, struct err *e)
{
	static const enum policy_limit shown[] = { LIMIT_MEMORY_MB, LIMIT_CPU_SECONDS, LIMIT_TIMEOUT_MS, LIMIT_PROCESSES };
	autoclean(policy_done) struct policy p = { 0 };
	TRY(policy_profile(name, &p, e));
	buf_add_format(out, "%-9s %-10s %-8s", name, policy_level_name(p.level), p.allow_network ? "yes" : "no");
	for (size_t i = 0; i < COUNT_OF(shown); i++) {
		char words[32];
		limit_in_words(&policy_limit_rows[shown[i]], p.limits[shown[i]], words, sizeof words);
		buf_add_format(out, " %9s", words);
	}
	buf_add_format(out, "  %s\n", summary);
	return 0;
}

/* {"default": {…}, "strict": {…}}: names are words of ours, and each policy is JSON already. */
static int add_json(struct buf *out, struct err *e)
{
	for (size_t i = 0; i < policy_profile_count(); i++) {
		buf_add_format(out, "%s\"%s\": ", i == 0 ? "{" : ",\n", policy_profile_name(i));
		TRY(add_full(policy_profile_name(i), out, e));
	}
	buf_add_text(out, "}\n");
	return 0;
}

static int add_table(struct buf *out, struct err *e)
{
	buf_add_text(out, "NAME      ISOLATION  NETWORK     MEMORY       CPU   TIMEOUT PROCESSES  FOR\n");
	for (size_t i = 0; i < policy_profile_count(); i++)
		TRY(add_row(policy_profile_name(i), policy_profile_summary(i), out, e));
	return 0;
}

int cmd_profiles(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	autoclean(buf_done) struct buf out = BUF_MAX(4 << 20);
	if (a->word_count > 0)
		TRY(add_full(a->words[0], &out, e));
	else
		TRY(a->json ? add_json(&out, e) : add_table(&out, e));
	if (!str_ends(buf_text(&out), "\n"))
		buf_add_text(&out, "\n");
	return print_out(&out, e);
}
