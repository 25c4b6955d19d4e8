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

size_t mt_log_word_at(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (*s == **words && strncmp(s, *words, strlen(*words)) == 0)
            return strlen(*words);
    return 0;
}

bool mt_log_begins(const char *s, const char *const *words)
{
    return mt_log_word_at(s, words) != 0;
}
