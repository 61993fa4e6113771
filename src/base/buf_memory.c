/* Alone in its file: a program that brings its own does not link it. */
#include <stdlib.h>

#include "base/buf.h"

void *buf_memory_resize(void *old, size_t size)
{
	return realloc(old, size);
}

void buf_memory_free(void *old)
{
	free(old);
}
