/* The names in a directory, read once, for who has many names to ask for: a question to the kernel for each takes longer.
 *
 * It is believed about what is *not* there, and only on file systems that list all that they have, under the name that it was made
 * with. Some take one name for another (upper and lower case): so whoever looks like the name that is asked for, but for the case,
 * may be it, and where a name is not plain ASCII nothing is said. {0} knows nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct listing {
	char *entries; /* as the kernel gives them; NULL: nothing is known */
	size_t size;
	char *directory;
	bool directories; /* one of them is a directory, or may be, and not hidden */
};

int listing_read(const char *directory, struct listing *ret); /* -ENOMEM; where it cannot be read, it knows nothing */
/* Is it certain that there is nothing at this path, since its directory, or one on the way, has no such name? */
bool listing_lacks(const struct listing *l, const char *path);
/* The next name, NULL: that was all. *at begins as 0. */
const char *listing_next(const struct listing *l, size_t *at);
void listing_done(struct listing *l);
