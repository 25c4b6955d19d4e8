/* log/letters.c -- what the readers of people's sentences ask of a line. */
#include "parser/log/match.h"

#include <string.h>

bool mt_log_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool mt_log_has_one(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(s, *words) != NULL)
            return true;
    return false;
}

bool mt_log_begins(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strncmp(s, *words, strlen(*words)) == 0)
            return true;
    return false;
}
