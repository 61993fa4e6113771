/* Inside of the room only. */
#pragma once

#include <stdbool.h>
#include <zlib.h>

#include "image/image.h"
#include "image/tar.h"

/* source.c: a piece of a file, unpacked on the way if it is compressed. */
struct image_source {
	int fd;
	uint64_t at, end;
	bool compressed, finished;
	z_stream z;
	unsigned char in[64 * 1024];
};
int source_open(struct image_source *s, int fd, uint64_t at, uint64_t size, struct err *e);
void source_done(struct image_source *s);
ssize_t source_read(void *source, void *out, size_t size);

/* layout.c: where the layers lie in the archive, the lowest first. A plain root directory is one layer: all of it. */
struct layer {
	uint64_t at, size;
	char digest[80]; /* "" or the SHA-256, in hexadecimal, that its bytes must have */
};
struct layers {
	struct layer *v;
	size_t count;
};
void layers_done(struct layers *l);
int image_find_layers(int fd, uint64_t size, struct layers *ret, struct err *e);

/* layer.c */
struct unpacking {
	int root;
	uint64_t bytes, members;
	uint64_t told, met; /* the same, as the first pass over each layer has them */
};
int layer_unpack(struct unpacking *u, int fd, const struct layer *layer, struct err *e);
