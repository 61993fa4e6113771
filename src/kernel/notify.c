#include "kernel/notify.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/scope.h"

/* Newer than some headers. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

int notify_receive(int listener, struct notify_call *ret)
{
	/* The kernel fills its own struct, which may have grown since, and wants it zeroed. */
	union {
		struct seccomp_notif head;
		char room[512];
	} heard;
	memset(&heard, 0, sizeof heard);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &heard) < 0)
		return -errno;
	const struct seccomp_data *data = &heard.head.data;
	*ret = (struct notify_call){ .id = heard.head.id, .pid = (pid_t)heard.head.pid, .number = data->nr, .arch = data->arch };
	ret->ip = data->instruction_pointer;
	memcpy(ret->args, data->args, sizeof ret->args);
	return 0;
}

static int answer(int listener, uint64_t id, int error, uint32_t flags)
{
	union {
		struct seccomp_notif_resp head;
		char room[256];
	} said;
	memset(&said, 0, sizeof said);
	said.head.id = id;
	said.head.error = error;
	said.head.flags = flags;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said) < 0 ? -errno : 0;
}

int notify_refuse(int listener, uint64_t id, int errnum)
{
	return answer(listener, id, errnum > 0 && errnum < 4096 ? -errnum : -EPERM, 0);
}

int notify_continue(int listener, uint64_t id)
{
	return answer(listener, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

bool notify_waits(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void notify_hurry(int listener)
{
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

/* ---- asking a filter ---- */
static bool jumps(const struct sock_filter *in, uint32_t a)
{
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		return a == in->k;
	case BPF_JGT:
		return a > in->k;
	case BPF_JGE:
		return a >= in->k;
	default: /* BPF_JSET */
		return (a & in->k) != 0;
	}
}

/* The instructions that our own filters are made of (gen_seccomp.c); any other, or a walk off the end, is SECCOMP_RET_KILL. */
static uint32_t walk(const struct sock_filter *insns, size_t count, const struct seccomp_data *data, unsigned *looked)
{
	uint32_t a = 0;
	for (size_t pc = 0; pc < count; pc++) {
		struct sock_filter in; /* a copy: in a plan, which is bytes, they may lie at any address */
		memcpy(&in, (const char *)insns + pc * sizeof in, sizeof in);
		if (in.code == (BPF_RET | BPF_K))
			return in.k;
		if (in.code == (BPF_LD | BPF_W | BPF_ABS) && in.k % 4 == 0 && in.k < sizeof *data) {
			memcpy(&a, (const char *)data + in.k, sizeof a);
			if (in.k >= offsetof(struct seccomp_data, args))
				*looked |= 1U << (in.k - offsetof(struct seccomp_data, args)) / 8;
		} else if (in.code == (BPF_ALU | BPF_AND | BPF_K)) {
			a &= in.k;
		} else if (in.code == (BPF_JMP | BPF_JA)) {
			pc += in.k;
		} else if (BPF_CLASS(in.code) == BPF_JMP && BPF_SRC(in.code) == BPF_K) {
			pc += jumps(&in, a) ? in.jt : in.jf;
		} else {
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

int notify_ask_filter(const struct sock_filter *insns, size_t count, const struct notify_call *call, unsigned *ret_looked)
{
	struct seccomp_data data = { .nr = call->number, .arch = call->arch, .instruction_pointer = call->ip };
	memcpy(data.args, call->args, sizeof data.args);
	*ret_looked = 0;
	uint32_t verdict = walk(insns, count, &data, ret_looked);
	if (verdict == SECCOMP_RET_ALLOW)
		return 0;
	uint32_t action = verdict & SECCOMP_RET_ACTION_FULL;
	if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD)
		return NOTIFY_KILLS;
	int errnum = (int)(verdict & SECCOMP_RET_DATA);
	return action == SECCOMP_RET_ERRNO && errnum > 0 ? -errnum : -EPERM;
}

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

bool notify_passes_all(const struct sock_filter *insns, size_t count, const int *numbers, size_t number_count)
{
	unsigned looked = 0;
	bool passes = true;
	for (size_t i = 0; passes && i < number_count; i++) {
		struct notify_call call = { .number = numbers[i], .arch = NATIVE };
		passes = notify_ask_filter(insns, count, &call, &looked) == 0 && looked == 0;
	}
	return passes;
}

bool notify_would_pass(enum seccomp_builtin which, bool network, int number, const uint64_t args[6])
{
	static const enum seccomp_patch points[] = { SECCOMP_PATCH_INET, SECCOMP_PATCH_NETLINK };
	const struct seccomp_program *program = seccomp_builtin(which);
	struct sock_filter copy[1024];
	if (program->count > COUNT_OF(copy))
		return false;
	memcpy(copy, program->insns, program->count * sizeof *copy);
	for (size_t i = 0; network && i < COUNT_OF(points); i++)
		if (seccomp_patch(copy, which, points[i], SECCOMP_VERDICT_ALLOW) < 0)
			return false;
	struct notify_call call = { .number = number, .arch = NATIVE };
	memcpy(call.args, args, sizeof call.args);
	unsigned looked;
	return notify_ask_filter(copy, program->count, &call, &looked) == 0;
}
