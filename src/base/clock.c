#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_us(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t clock_own_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_now_ms(void)
{
	return clock_now_us() / 1000;
}

void clock_calendar(char *out, size_t size)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	struct tm parts;
	gmtime_r(&now.tv_sec, &parts);
	size_t used = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out + used, size - used, ".%03ldZ", now.tv_nsec / 1000000);
}
