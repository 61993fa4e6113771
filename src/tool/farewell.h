/* How the tool ends when all that is left of its run is the reaper, on its way out. */
#pragma once

#include "keeper/keeper.h"

/* Waits for the reaper, and ends with 0, as the command did. Weak: a program that is not static ends as all do. */
__attribute__((weak)) void farewell(const struct keeper_last *last);
