/* What the kernel holds for a tree in pipes and sockets: memory that no process maps. Each descriptor is borrowed for a moment to
 * ask, so whoever may not be looked into is not seen; neither is a descriptor that is on its way through a socket. */
#pragma once

#include <stdint.h>

struct tree;

/* More than `enough` is not looked for. *refused: errno, why somebody who is there could not be asked; left as it is if all could.
 */
uint64_t buffers_bytes(const struct tree *t, int proc, uint64_t enough, uint32_t *refused);
