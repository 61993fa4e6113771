/* What was learnt, for people and for programs. */
#pragma once

#include "engine/learn.h"
#include "front/cli/args.h"

/* Of a whole account: lines for standard error. */
void learn_report_text(const struct learn *l, const struct args *a, struct buf *out);
/* One object. `policy` is the proposal as JSON. */
void learn_report_json(const struct learn *l, const struct args *a, const struct buf *policy, struct buf *out);
