/* Scope does the cleaning.
 *
 * Whatever owns something is declared `autoclean(x_done)` and initialised at once; every `x_done` takes a pointer to the
 * variable and accepts its empty value. Ownership leaves by TAKE (pointers) and TAKE_FD (descriptors), which empty the
 * variable, so that error paths are one word long: return. */
#pragma once

#include <stdlib.h>

#define autoclean(done) __attribute__((cleanup(done)))

#define TAKE(p)                                                                                                                    \
	({                                                                                                                         \
		__typeof__(p) *take_from_ = &(p);                                                                                  \
		__typeof__(p) taken_ = *take_from_;                                                                                \
		*take_from_ = NULL;                                                                                                \
		taken_;                                                                                                            \
	})

#define TAKE_FD(fd)                                                                                                                \
	({                                                                                                                         \
		int *take_from_ = &(fd);                                                                                           \
		int taken_ = *take_from_;                                                                                          \
		*take_from_ = -1;                                                                                                  \
		taken_;                                                                                                            \
	})

/* Control flow is -errno: hand it up. */
#define TRY(call)                                                                                                                  \
	do {                                                                                                                       \
		int try_ = (call);                                                                                                 \
		if (try_ < 0)                                                                                                      \
			return try_;                                                                                               \
	} while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
/* A text of a table fits into its row with the zero that ends it: the compiler lets that one be missing. */
#define TEXT_FITS(text, row, field) _Static_assert(sizeof(text) <= sizeof(((row *)NULL)->field), #field ": too long")

/* For `autoclean(free_done) char *text`. */
static inline void free_done(void *pointer)
{
	free(*(void **)pointer);
}
