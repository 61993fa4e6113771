/* Time. Limits use the monotonic clock, which no one can set; events carry the calendar. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int64_t clock_now_us(void); /* CLOCK_MONOTONIC, microseconds */
int64_t clock_now_ms(void);
int64_t clock_own_us(void); /* what this thread has used of the processor */

/* "2026-01-31T12:34:56.789Z" of now; size ≥ 25. */
void clock_calendar(char *out, size_t size);
