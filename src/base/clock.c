#include "base/clock.h"

#include <stdio.h>
#include <time.h>

int64_t clock_now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
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
