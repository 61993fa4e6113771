/* Numbers as people know them. */
#pragma once

const char *names_errno(int errnum);  /* "EPERM"; NULL: no such error */
const char *names_signal(int number); /* "SIGTERM"; NULL: no such signal, or a real-time one */
