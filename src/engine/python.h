/* Python runs, as the fronts see them: they do not look into the room itself. */
#pragma once

#include "python/batch.h"
#include "python/imports.h"
#include "python/report.h"
#include "python/runner.h"
