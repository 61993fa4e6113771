/* Ways below a directory that nobody can bend: names are walked one by one, no link is followed, no other file system is entered,
 * and a directory that is swapped for a link meanwhile ends the walk. Paths are relative, without "." and "..". -errno. */
#pragma once

#include "base/vec.h"

int place_open(int root, const char *path);                          /* O_PATH of a directory; "" is the root */
int place_parent(int root, const char *path, const char **ret_name); /* of the last name, which need not be there */
int place_list(int root, const char *path, struct strv *ret_names);  /* sorted, without . and .. */
