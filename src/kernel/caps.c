#include "kernel/caps.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include "base/scope.h"
#include "kernel/raw.h"

static bool known(int cap)
{
	return RAW(prctl, PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
}

int caps_last(void)
{
	int low = 0, high = 63; /* the sets have 64 bits */
	while (low < high) {
		int middle = (low + high + 1) / 2;
		if (known(middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static int get_sets(struct __user_cap_data_struct ret[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	return RAW(capget, &header, ret);
}

uint64_t caps_effective(void)
{
	struct __user_cap_data_struct sets[2] = { 0 };
	return get_sets(sets) == 0 ? (uint64_t)sets[1].effective << 32 | sets[0].effective : 0;
}

bool caps_have(int cap)
{
	return cap >= 0 && cap < 64 && (caps_effective() >> cap & 1);
}

int caps_drop_bounding(int last_cap)
{
	for (int cap = 0; cap <= last_cap; cap++)
		TRY(RAW(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0));
	return 0;
}

int caps_drop_sets(void)
{
	TRY(RAW(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	TRY(RAW(capset, &header, sets));
	TRY(get_sets(sets));
	for (int i = 0; i < 2; i++)
		if (sets[i].effective | sets[i].permitted | sets[i].inheritable)
			return -EPERM;
	return 0;
}
