/* A strict reader of tar archives: ustar, with GNU's long names and the pax headers path, linkpath and size. Everything in an
 * archive is hostile. A member whose path is absolute, leads upwards or is no text without control characters, a size that is not
 * there, a wrong checksum or an unknown extension that would change what a member means ends the reading. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define TAR_MAX_PATH 4096

/* Where the bytes come from: `read` gives at least one, 0 at the end, or -errno. */
struct tar_source {
	ssize_t (*read)(void *context, void *out, size_t size);
	void *context;
};

enum tar_type { TAR_FILE, TAR_DIRECTORY, TAR_LINK, TAR_HARD_LINK, TAR_SKIPPED /* devices and fifos */ };

struct tar_member {
	enum tar_type type;
	char path[TAR_MAX_PATH];   /* relative, without ".", ".." and doubled slashes; "" is the root itself */
	char target[TAR_MAX_PATH]; /* of a link as it is written; of a hard link a path like the above */
	uint32_t mode;             /* 0777 */
	uint64_t size;             /* of a file's bytes */
};

struct tar {
	struct tar_source source;
	uint64_t left, padding; /* of the member at hand */
	uint64_t position;      /* how many bytes were read */
	struct tar_member member;
};

/* 1: there is a member; 0: the end. Bytes of the last one that were not read are passed over. */
int tar_next(struct tar *t, struct err *e);
/* Bytes of the member at hand: 0 at its end. */
ssize_t tar_read(struct tar *t, void *out, size_t size, struct err *e);
