/* What lies inside of the places that a proposal grants. Internal to the room. */
#pragma once

#include "engine/learn.h"

/* Protected places in granted directories are closed (deniedPaths), those that others obey are noted. -ENOMEM. */
int learn_search(struct learn *l);
