/* Functions that have no place here; the compiler says so. Included in front of every file by the build. */
#pragma once
#ifndef CORDON_NO_BANS

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#undef sprintf /* some compilers have these as macros, which cannot be poisoned without a warning */
#undef vsprintf

/* They write without an end, or forget one. */
#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok strncpy strncat
/* They cannot tell a bad number from zero, or overflow in silence: str_parse_number() and its kin can. */
#pragma GCC poison atoi atol atoll atof scanf fscanf sscanf vscanf vfscanf vsscanf
/* A name is not a file: mkstemp, mkdtemp, O_TMPFILE. */
#pragma GCC poison tmpnam tempnam mktemp
/* They load libraries at run time, which a static program must not (NSS). */
#pragma GCC poison getpwnam getpwuid getgrnam getgrgid getlogin getaddrinfo gethostbyname getservbyname
/* A shell of whose words we know nothing. */
#pragma GCC poison system popen
/* One buffer for all callers, and local time lies in logs. */
#pragma GCC poison asctime ctime localtime
/* Nothing here may be guessable: getrandom. */
#pragma GCC poison rand srand random srandom drand48

#endif
