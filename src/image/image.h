/* Root file systems from archives: a tar of a root directory, what `docker save` writes, or an OCI layout in a tar; each also
 * compressed with gzip, as its layers may be. An archive is unpacked once, into cordon's store, under the name of its digest. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define IMAGE_MAX_BYTES (8LL << 30) /* unpacked */
#define IMAGE_MAX_MEMBERS 1000000

/* The directory of the unpacked root; the caller frees. It stays: the next run finds it. */
int image_unpack(const char *file, char **ret_directory, struct err *e);
