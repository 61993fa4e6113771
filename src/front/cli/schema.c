/* cordon schema: the JSON Schema of policy files. */
#include "front/cli/args.h"

#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"

int cmd_schema(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)a, (void)host;
	autoclean(buf_done) struct buf out = BUF_MAX(1 << 20);
	if (policy_schema(&out) < 0)
		return err_nomem(e);
	if (!str_ends(buf_text(&out), "\n"))
		buf_add_text(&out, "\n");
	return print_out(&out, e);
}
