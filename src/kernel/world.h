/* A private root: what a run at container level sees instead of the host's.
 *
 * Steps of a caller, which stands in a mount namespace of its own (mounts_own) with CAP_SYS_ADMIN, and in a pid namespace:
 *   1. world_make     a small memory file system with system directories, /etc, /dev, /proc, /tmp; not entered yet
 *   2. world_file, world_bind …   what this run has besides; paths are as they will be inside
 *   3. world_scratch  how much fits into /tmp, HOME and /dev/shm, and whose they are
 *   4. world_enter    it becomes the root, read-only; the host's is gone
 * The first needs no plan, so it can be done ahead. Raw system calls only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORLD_HOME "/home/sandbox"
#define WORLD_NAME "sandbox"

/* Bits of `parts`: the rows of base/system.def that are shown, in their order. */
#define WORLD_EVERYTHING UINT64_MAX

/* The rows that bits stand for. */
size_t world_part_count(void);
const char *world_part(size_t index);
/* What is taken over from the host's /etc whenever /usr is shown. */
size_t world_taken_count(void);
const char *world_taken(size_t index);
/* Is this path taken over from the host whenever /usr is shown? */
bool world_has(const char *path);

/* {-1, -1, -1}: none */
struct world {
	int root;
	int proc;      /* its /proc, writable: for the maps of a user namespace */
	int scratch;   /* the file system of /tmp, HOME and /dev/shm */
	bool image;    /* made from one (rootfs.h) */
	bool writable; /* and its root stays writable */
};

int world_make(uint64_t parts, struct world *ret);
int world_file(const struct world *w, const char *path, const void *content, size_t size);

enum world_how { WORLD_WRITABLE = 1, WORLD_MAPPED = 2, WORLD_LINK = 4 /* the link itself, so that it stays */ };
/* Show what is at `source` on the host as `path`, without set-user-ID and devices; userns: for WORLD_MAPPED, as in mounts.h. */
int world_bind(const struct world *w, const char *path, const char *source, unsigned how, int userns);
int world_scratch(const struct world *w, uint64_t bytes, uint32_t uid, uint32_t gid);
int world_enter(struct world *w);
