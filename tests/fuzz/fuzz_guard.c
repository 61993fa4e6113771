/* Any shell line, and any argv (one word a line), gets a verdict. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "guard/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct strv *argv, bool shell)
{
	static char denied[] = "/etc/secret", writable[] = "/home/u/work", home[] = "HOME=/home/u", blocked[] = "dig",
		    allowed[] = "ls";
	static char *denied_list[] = { denied, NULL }, *write_list[] = { writable, NULL }, *environment[] = { home, NULL },
		    *blocked_list[] = { blocked, NULL }, *allowed_list[] = { allowed, NULL };
	struct policy p = { .set = POLICY_BIT(FIELD_WRITE), .working_directory = writable };
	p.denied_paths = (struct strv){ denied_list, 1, 2 };
	p.write_paths = (struct strv){ write_list, 1, 2 };
	p.environment = (struct strv){ environment, 1, 2 };
	p.blocked_commands = (struct strv){ blocked_list, 1, 2 };
	p.allowed_commands = (struct strv){ allowed_list, 1, 2 };
	for (int lists = 0; lists < 2; lists++) {
		struct guard_verdict v = { 0 };
		struct err e = { 0 };
		p.set |= lists ? POLICY_BIT(FIELD_ALLOWED_COMMANDS) : 0;
		if (guard_judge(&p, "/data/ann", argv, shell, &v, &e) < 0)
			continue;
		if ((v.result == GUARD_ALLOW) != (v.rule[0] == '\0') || (v.rule[0] && (!v.reason[0] || !v.hint[0])))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoclean(free_done) char *text = strndup((const char *)data, size);
	autoclean(strv_done) struct strv line = { 0 }, argv = { 0 };
	strv_add(&line, text);
	judge(&line, true);
	for (const char *at = text; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
		strv_add_take(&argv, strndup(at, strcspn(at, "\n")));
	judge(&argv, false);
	return 0;
}
