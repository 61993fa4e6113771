/* Rows of --stats as text. */
#pragma once

#include "base/buf.h"
#include "front/cli/stats.h"

void stats_put_header(struct buf *out);
void stats_put_row(struct buf *out, const struct stats_row *row);
