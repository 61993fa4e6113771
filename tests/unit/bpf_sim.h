/* A seccomp filter, evaluated as the kernel would, without the kernel. Programs that the kernel would not take (a jump or load out
 * of range, no RET at the end, an unknown instruction) give SIM_BROKEN. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIM_BROKEN 0xdeadbeefU

static inline int sim_jumps(const struct sock_filter *in, uint32_t a)
{
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		return a == in->k;
	case BPF_JGT:
		return a > in->k;
	case BPF_JGE:
		return a >= in->k;
	case BPF_JSET:
		return (a & in->k) != 0;
	}
	return -1;
}

static inline uint32_t sim_run(const struct sock_filter *insns, size_t count, const struct seccomp_data *data)
{
	uint32_t a = 0, scratch[BPF_MEMWORDS] = { 0 }, x = 0;
	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *in = &insns[pc];
		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (in->k % 4 || in->k >= sizeof *data)
				return SIM_BROKEN;
			memcpy(&a, (const char *)data + in->k, sizeof a);
			break;
		case BPF_LD | BPF_MEM:
			a = in->k < BPF_MEMWORDS ? scratch[in->k] : SIM_BROKEN;
			break;
		case BPF_ST:
			if (in->k >= BPF_MEMWORDS)
				return SIM_BROKEN;
			scratch[in->k] = a;
			break;
		case BPF_MISC | BPF_TAX:
			x = a;
			break;
		case BPF_MISC | BPF_TXA:
			a = x;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += in->k;
			break;
		case BPF_RET | BPF_K:
			return in->k;
		default: {
			int taken = BPF_CLASS(in->code) == BPF_JMP && BPF_SRC(in->code) == BPF_K ? sim_jumps(in, a) : -1;
			if (taken < 0)
				return SIM_BROKEN;
			pc += taken ? in->jt : in->jf;
		}
		}
	}
	return SIM_BROKEN;
}

/* Every instruction is one we know, every jump lands inside, and the last is a RET. */
static inline int sim_valid(const struct sock_filter *insns, size_t count)
{
	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *in = &insns[pc];
		if (BPF_CLASS(in->code) != BPF_JMP)
			continue;
		size_t far = BPF_OP(in->code) == BPF_JA ? in->k : in->jt > in->jf ? in->jt : in->jf;
		if (pc + 1 + far >= count)
			return 0;
	}
	return count > 0 && insns[count - 1].code == (BPF_RET | BPF_K);
}
