/* What programs may import: sets by name, and modules that stay blocked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "wire/codec.h"

/* Add the modules of a set: "default" or "data" (which has the default ones, too). ERR_USAGE for other names. */
int imports_add_set(struct strv *list, const char *set, struct err *e);

/* A name that can stand in a whitelist: words and dots. ERR_USAGE, ERR_REFUSED when it is blocked and not in `unblocked`. */
int imports_check(const char *module, const struct strv *unblocked, struct err *e);

/* What has to be loaded before programs run: all of `imports`, and what comes with them. Where their text is known (data NULL: it
 * is not), only what it speaks of: a module that is nowhere named cannot be imported. -ENOMEM */
int imports_to_load(const struct strv *imports, struct blob text, struct strv *ret);

/* The hint of a blocked root module, or NULL when it is not blocked. `length` bytes of name. */
const char *imports_blocked(const char *root, size_t length);

/* The hint of a root module that does not work in a program, or NULL. */
const char *imports_vain(const char *root, size_t length);

/* A public name of a module that programs do not get to see. */
bool imports_hidden(const char *module, const char *name);
