/* The tar reader: whatever the bytes, it ends, and no path that it gives leads out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "image/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static ssize_t give(void *context, void *out, size_t size)
{
	struct input *in = context;
	size_t take = size < in->left ? size : in->left;
	memcpy(out, in->at, take);
	in->at += take;
	in->left -= take;
	return (ssize_t)take;
}

static void check(const char *path)
{
	if (path[0] == '/' || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 || strstr(path, "/../") ||
	    strstr(path, "//") || (strlen(path) >= 3 && strcmp(path + strlen(path) - 3, "/..") == 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	autoclean(free_done) struct tar *t = calloc(1, sizeof *t);
	struct err e = { 0 };
	t->source = (struct tar_source){ give, &in };
	while (tar_next(t, &e) > 0) {
		char bytes[100];
		check(t->member.path);
		if (t->member.type == TAR_HARD_LINK)
			check(t->member.target);
		while (tar_read(t, bytes, sizeof bytes, &e) > 0)
			;
	}
	return 0;
}
