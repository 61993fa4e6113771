/* Capabilities, without libcap. All of it is raw: it may be called between clone and exec in memory shared with the parent. */
#pragma once

#include <stdbool.h>

/* The highest capability that this kernel knows. */
int caps_last(void);

/* Is it in the effective set? */
bool caps_have(int cap);

/* Empty the bounding set, so that no file can give a capability back. Needs CAP_SETPCAP, which leaves with the user id. */
int caps_drop_bounding(int last_cap);

/* Empty every set: ambient, inheritable, permitted, effective, and the bounding set where CAP_SETPCAP is still held. */
int caps_drop_all(void);
