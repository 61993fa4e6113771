/* Functions that have no place here; the compiler says so. Included in front of every file by the build. */
#pragma once
#ifndef CORDON_NO_BANS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok strncpy strncat
#pragma GCC poison atoi atol atoll atof
#pragma GCC poison tmpnam tempnam mktemp
#pragma GCC poison getpwnam getpwuid getgrnam getgrgid getaddrinfo gethostbyname
#pragma GCC poison system popen

#endif
