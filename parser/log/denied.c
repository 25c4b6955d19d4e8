/* log/denied.c -- whether a person's sentence denies what it names: "no OOM", "not a memory leak",
 * "without LoRA". How a language says no is nobody's name: one list for all that read sentences. */
#include "parser/log/log.h"
#include "parser/log/match.h"

#include <string.h>

enum {
    FAR = 24,   /* bytes from the denial to what it is about */
    BETWEEN = 2 /* words between them: "not get an OOM" */
};

static bool begins(const char *p, const char *word)
{
    for (; *word != '\0'; p++, word++)
        if (*p != *word && !(*word >= 'a' && *word <= 'z' && (*p | 32) == *word))
            return false;
    return true;
}

/* No other clause begins between the two, and few words stand there. */
static bool is_of(const char *from, const char *at)
{
    int words = 0;
    for (const char *p = from; p < at; p++) {
        if (strchr(",.;:!?", *p) != NULL || strncmp(p, "\xef\xbc\x8c", 3) == 0 ||
            strncmp(p, "\xe3\x80\x82", 3) == 0)
            return false;
        words += *p == ' ';
    }
    return words <= BETWEEN;
}

size_t mt_log_denial(const char *s, const char *p)
{
    /* Behind a blank or at the beginning; the others are in Chinese: by no means, not, not, not
     * yet, avoid. */
    static const char *const words[] = {"no ",         "not ",           "never ",  "without ",
                                        "instead of ", "rather than ",   "avoid ",  "against ",
                                        "neither ",    "as opposed to ", "unlike ", "nor ",
                                        NULL},
                             *const parts[] = {"n't ",
                                               "\xe5\xb9\xb6\xe9\x9d\x9e",
                                               "\xe6\xb2\xa1",
                                               "\xe4\xb8\x8d",
                                               "\xe6\x9c\xaa",
                                               "\xe9\x81\xbf\xe5\x85\x8d",
                                               NULL};
    bool is_word = p == s || !mt_log_is_letter(p[-1]);
    for (const char *const *w = words; is_word && *w != NULL; w++)
        if (begins(p, *w))
            return strlen(*w);
    for (const char *const *w = parts; *w != NULL; w++)
        if (begins(p, *w))
            return strlen(*w);
    return 0;
}

bool mt_log_is_denied(const char *s, const char *at)
{
    for (const char *p = at - s > FAR ? at - FAR : s; p < at; p++) {
        size_t n = mt_log_denial(s, p);
        if (n != 0 && p + n <= at && is_of(p + n, at))
            return true;
    }
    return false;
}
