/* Capabilities, without libcap. All of it is raw: it may be called between clone and exec in memory shared with the parent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The highest capability that this kernel knows. */
int caps_last(void);

/* The effective set, a bit each; 0 when it cannot be had. */
uint64_t caps_effective(void);
bool caps_have(int cap);

/* Empty the bounding set, so that no file can give a capability back. Needs CAP_SETPCAP, which leaves with the user id. */
int caps_drop_bounding(int last_cap);

/* raw; ambient, permitted, effective and inheritable set emptied, and seen to be. The bounding set stays: with no_new_privs
 * nothing can be gained from it, and emptying it takes a call for each capability. */
int caps_drop_sets(void);
