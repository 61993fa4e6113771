/* Where the Python of this libpython was not at hand to write what tools/freeze-python writes. */
#include <Python.h>

#include "python/inside.h"

const struct _frozen *const interpreter_frozen = NULL;
const char interpreter_frozen_version[] = "";
