/* Denials in words: every call that a filter refuses has a meaning, and the option that is said to allow it does. */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "bpf_sim.h"
#include "engine/internal.h"
#include "kernel/notify.h"
#include "kernel/seccomp.h"

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

/* Values that the checks of the filters tell apart. */
static const uint64_t values[] = { 0,      1,      2,      3,      10,     16,         17,         35,         38,
				   40,     59,     62,     67,     1024,   02000,      04755,      0020000,    0x5412,
				   0x541c, 0x5423, 0xaa00, 0x4b01, 0x5601, 0x401c5820, 0x10000000, 0x20000000, 0x20000 };

typedef void (*visitor)(enum seccomp_builtin which, const struct seccomp_row *row, const struct notify_call *call, int said);

static void visit_row(enum seccomp_builtin which, const struct seccomp_row *row, visitor visit)
{
	const struct seccomp_program *program = seccomp_builtin(which);
	int number = seccomp_syscall_number(row->name);
	for (size_t v = 0; number >= 0 && v < COUNT_OF(values) * COUNT_OF(values); v++) {
		uint64_t a = values[v % COUNT_OF(values)], b = values[v / COUNT_OF(values)];
		struct notify_call call = { .number = number, .arch = NATIVE, .args = { a, b, b, b, b, b } };
		unsigned looked;
		visit(which, row, &call, notify_ask_filter(program->insns, program->count, &call, &looked));
	}
}

static void visit_calls(visitor visit)
{
	const struct seccomp_row *row;
	for (enum seccomp_builtin which = 0; which < SECCOMP_BUILTIN_COUNT; which++)
		for (size_t i = 0; (row = seccomp_row_at(i)); i++)
			visit_row(which, row, visit);
}

static void same_as_simulated(enum seccomp_builtin which, const struct seccomp_row *row, const struct notify_call *call, int said)
{
	const struct seccomp_program *program = seccomp_builtin(which);
	struct seccomp_data data = { .nr = call->number, .arch = call->arch };
	memcpy(data.args, call->args, sizeof data.args);
	uint32_t verdict = sim_run(program->insns, program->count, &data);
	if (verdict != (said == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)-said))
		fail_msg("%s: said %d, simulated %#x", row->name, said, verdict);
}

static void has_words(enum seccomp_builtin which, const struct seccomp_row *row, const struct notify_call *call, int said)
{
	if (said == 0 || said == -ENOSYS)
		return;
	char strict[] = "strict", by_default[] = "default";
	char *names[] = { which == SECCOMP_BUILTIN_STRICT ? strict : by_default };
	struct policy policy = { .seccomp = { .v = names, .n = 1 } };
	struct wire_denial denial = { .kind = "syscall", .syscall = call->number, .errnum = -said };
	memcpy(denial.args, call->args, sizeof denial.args);
	struct denial_words words;
	denial_describe(&policy, &denial, &words);
	if (strcmp(words.meaning, "a system call") == 0 || !words.reason[0] || strcmp(words.call, row->name) != 0)
		fail_msg("%s has no words", row->name);
	bool network = words.fix && strstr(words.fix, "--allow-network");
	bool other = words.fix && strstr(words.fix, "--seccomp default");
	if (words.fix && !notify_would_pass(other ? SECCOMP_BUILTIN_DEFAULT : which, network, call->number, call->args))
		fail_msg("%s: %s does not allow it", row->name, words.fix);
	if (!words.fix && notify_would_pass(SECCOMP_BUILTIN_DEFAULT, true, call->number, call->args))
		fail_msg("%s: there is a way to allow it", row->name);
}

static void the_filter_is_asked_as_the_kernel_asks_it(void **state)
{
	(void)state;
	visit_calls(same_as_simulated);
}

static void every_refusal_has_words_and_the_right_option(void **state)
{
	(void)state;
	visit_calls(has_words);
}

static void what_is_no_filter_of_ours_refuses(void **state)
{
	(void)state;
	unsigned looked;
	struct notify_call call = { .arch = NATIVE };
	const struct sock_filter odd[] = { BPF_STMT(BPF_MISC | BPF_TAX, 0) };
	const struct sock_filter kill[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	const struct sock_filter zero[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO) };
	assert_int_equal(notify_ask_filter(odd, 1, &call, &looked), NOTIFY_KILLS);
	assert_int_equal(notify_ask_filter(kill, 1, &call, &looked), NOTIFY_KILLS);
	assert_int_equal(notify_ask_filter(zero, 1, &call, &looked), -EPERM);
	assert_int_equal(notify_ask_filter(zero, 0, &call, &looked), NOTIFY_KILLS);
	const struct seccomp_program *program = seccomp_builtin(SECCOMP_BUILTIN_DEFAULT);
	call.arch = AUDIT_ARCH_I386; /* another's numbers */
	assert_int_equal(notify_ask_filter(program->insns, program->count, &call, &looked), NOTIFY_KILLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_is_asked_as_the_kernel_asks_it),
		cmocka_unit_test(every_refusal_has_words_and_the_right_option),
		cmocka_unit_test(what_is_no_filter_of_ours_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
