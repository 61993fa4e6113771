/* Memory that no child has. What a zygote holds of its programs (requests that wait, answers under way, what is left of those
 * before them) would be in the memory of every child that it forks, to be found by one that breaks out of Python. So once there are
 * programs, buffers live in mappings that a fork leaves out. A child starts with the C library's again.
 *
 * Blocks of a power of two: small ones are cut from chunks and kept for the next of their size, large ones are mappings of their
 * own. */
#include "python/inside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"

enum { CLASSES = 32, LARGE = 15, CHUNK = 256 << 10 }; /* as powers of two: from 32 KB on they are large */

struct block {
	struct block *next; /* while it is free */
	size_t power;       /* of two: its size, with this in front */
};

static struct {
	bool apart;
	struct block *free[CLASSES];
	char *at, *end; /* what is left of a chunk */
} memory;

void memory_apart(bool apart)
{
	memory.apart = apart;
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, size, MADV_DONTFORK) == 0)
		return p;
	munmap(p, size);
	return NULL;
}

static struct block *cut(size_t power)
{
	size_t size = (size_t)1 << power;
	if ((size_t)(memory.end - memory.at) < size) {
		char *chunk = map(CHUNK);
		if (!chunk)
			return NULL;
		memory.at = chunk;
		memory.end = chunk + CHUNK;
	}
	struct block *b = (struct block *)(void *)memory.at;
	memory.at += size;
	return b;
}

static struct block *get(size_t power)
{
	struct block *b = power < CLASSES ? memory.free[power] : NULL;
	if (b)
		memory.free[power] = b->next;
	else
		b = power < LARGE ? cut(power) : map((size_t)1 << power);
	if (b)
		*b = (struct block){ NULL, power };
	return b;
}

static void put(struct block *b)
{
	if (b->power >= LARGE) {
		munmap(b, (size_t)1 << b->power);
		return;
	}
	b->next = memory.free[b->power];
	memory.free[b->power] = b;
}

void *buf_memory_resize(void *old, size_t size)
{
	if (!memory.apart)
		return realloc(old, size);
	struct block *was = old ? (struct block *)old - 1 : NULL, *b;
	size_t power = 8, kept = was ? ((size_t)1 << was->power) - sizeof *was : 0;
	if (size <= kept)
		return old;
	if (size > (size_t)1 << 40)
		return NULL;
	while (((size_t)1 << power) - sizeof *b < size)
		power++;
	b = get(power);
	if (!b)
		return NULL;
	if (was) {
		memcpy(b + 1, old, kept);
		put(was);
	}
	return b + 1;
}

void buf_memory_free(void *old)
{
	if (!memory.apart)
		free(old);
	else if (old)
		put((struct block *)old - 1);
}
