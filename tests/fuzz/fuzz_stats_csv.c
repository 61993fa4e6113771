/* The reader of --stats files: whatever the bytes, it answers, and what it accepts is written as it was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "front/cli/stats_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(stats_free) struct stats s = { 0 };
	struct err e = { 0 };
	char *bytes = malloc(size ? size : 1); /* of this size exactly, so that a byte too far is seen */
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	if (stats_parse(bytes, size, "x", &s, &e) == 0) {
		if (s.n == 0 || s.n > STATS_MAX_ROWS)
			abort();
		struct buf again = BUF_MAX(64 << 20);
		stats_put_header(&again);
		for (size_t i = 0; i < s.n; i++)
			stats_put_row(&again, &s.rows[i]);
		struct stats twice = { 0 };
		if (again.bad || stats_parse(again.data, again.size, "x", &twice, &e) < 0 || twice.n != s.n ||
		    memcmp(twice.rows[s.n - 1].v, s.rows[s.n - 1].v, sizeof s.rows[0].v) != 0)
			abort();
		stats_free(&twice);
		buf_done(&again);
	} else if (e.code == ERR_NONE || !e.message[0]) {
		abort();
	}
	free(bytes);
	return 0;
}
