/* cordon version. */
#include "front/cli/args.h"

#include "base/json.h"
#include "base/scope.h"
#include "front/cli/print.h"

int cmd_version(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	autoclean(buf_done) struct buf out = BUF_MAX(4096);
	if (a->json) {
		struct json_writer w = json_writer_on(&out, 0);
		json_open(&w, NULL, '{');
		json_put_string(&w, "name", "cordon");
		json_put_string(&w, "version", CORDON_VERSION);
		json_close(&w, '}');
		buf_add_text(&out, "\n");
	} else {
		buf_add_text(&out, "cordon " CORDON_VERSION "\n");
	}
	return print_out(&out, e);
}
