/* cordon apply and cordon discard: what becomes of kept changes. */
#include "front/cli/args.h"

#include "base/json.h"
#include "base/scope.h"
#include "front/cli/print.h"

static void tell(const struct args *a, const struct change_set *set, const struct changes_done *done, size_t left, struct buf *out)
{
	if (a->json) {
		struct json_writer w = json_writer_on(out, 0);
		json_open(&w, NULL, '{');
		json_put_string(&w, "id", set->id);
		json_put_int(&w, "applied", (int64_t)done->applied);
		json_put_int(&w, "alreadyThere", (int64_t)done->skipped);
		json_put_int(&w, "left", (int64_t)left);
		json_close(&w, '}');
		buf_add_text(out, "\n");
		return;
	}
	buf_add_format(out, "%zu applied", done->applied);
	if (done->skipped > 0)
		buf_add_format(out, ", %zu were there already", done->skipped);
	if (left > 0)
		buf_add_format(out, ", %zu left (cordon changes %s)", left, set->id);
	buf_add_text(out, "\n");
}

int cmd_apply(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	autoclean(change_set_done) struct change_set set = { 0 };
	autoclean(changes_done_done) struct changes_done done = { 0 };
	autoclean(strv_done) struct strv paths = { 0 };
	for (int i = 1; i < a->word_count; i++)
		if (strv_add(&paths, a->words[i]) < 0)
			return err_nomem(e);
	TRY(changes_load(a->words[0], &set, e));
	TRY(changes_apply(&set, &(struct changes_choice){ &paths, a->force }, &done, e));
	size_t left = 0;
	for (size_t i = 0; i < set.count; i++)
		left += !set.changes[i].applied;
	autoclean(buf_done) struct buf out = BUF_MAX(16u << 20);
	tell(a, &set, &done, left, &out);
	if (!a->json)
		changes_add_warnings(&set, &out);
	if (left == 0)
		TRY(changes_discard(&set, e)); /* there is nothing more in it */
	return print_out(&out, e);
}

int cmd_discard(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	for (int i = 0; i < a->word_count; i++)
		TRY(changes_forget(a->words[i], e));
	return 0;
}
