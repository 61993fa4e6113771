#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The instructions that notify_ask_filter() knows: what it cannot ask again must stay a filter of its own. */
static bool is_known(const struct sock_filter *in)
{
	return in->code == (BPF_LD | BPF_W | BPF_ABS) || in->code == (BPF_ALU | BPF_AND | BPF_K) ||
	       (BPF_CLASS(in->code) == BPF_JMP && BPF_SRC(in->code) == BPF_K);
}

/* What passes goes on to the rest, as if it stood behind the last instruction; what is refused is told. */
static int join_answer(struct sock_filter *in, size_t behind)
{
	switch (in->k & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		*in = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (uint32_t)behind };
		return 0;
	case SECCOMP_RET_ERRNO:
		if ((in->k & SECCOMP_RET_DATA) == 0)
			return -ENOTSUP; /* a call that seems to succeed */
		in->k = SECCOMP_RET_USER_NOTIF;
		return 0;
	case SECCOMP_RET_KILL_PROCESS:
	case SECCOMP_RET_KILL_THREAD:
		in->k = SECCOMP_RET_USER_NOTIF;
		return 0;
	case SECCOMP_RET_TRAP:
		return 0; /* a signal that the program may want: nobody can give it but the kernel */
	default:
		return -ENOTSUP;
	}
}

int seccomp_join_heard(const struct sock_filter *filter, size_t count, const struct sock_filter *rest, size_t rest_count,
		       struct sock_filter *out, size_t room)
{
	if (count + rest_count > room)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		out[i] = filter[i];
		int joined = filter[i].code == (BPF_RET | BPF_K) ? join_answer(&out[i], count - 1 - i) : 0;
		if (joined < 0 || (filter[i].code != (BPF_RET | BPF_K) && !is_known(&filter[i])))
			return -ENOTSUP;
	}
	for (size_t i = 0; i < rest_count; i++)
		out[count + i] = rest[i];
	return (int)(count + rest_count);
}
