/* pid.h -- an operand that names a process. */
#ifndef MT_CLI_PID_H
#define MT_CLI_PID_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Whether s is the number of a process, as "4711". */
static inline bool mt_is_pid(const char *s, pid_t *out)
{
    size_t n = strlen(s);
    if (n == 0 || n > 9 || strspn(s, "0123456789") != n)
        return false;
    *out = (pid_t)strtol(s, NULL, 10);
    return *out > 0;
}

#endif
