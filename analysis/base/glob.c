#include "analysis/base/glob.h"

#include <string.h>

bool mt_glob(const char *pat, const char *s, size_t n)
{
    const char *end = s + n, *star = NULL, *resume = NULL;
    for (;;) {
        if (*pat == '*') {
            star = pat++;
            resume = s;
            if (*pat == '\0')
                return true;
        } else if (s < end && *pat == *s) {
            pat++;
            s++;
        } else if (s == end && *pat == '\0') {
            return true;
        } else if (star != NULL && resume < end) {
            pat = star + 1;
            s = ++resume;
            if (*pat == '*')
                continue;
            /* names of C++ have thousands of bytes: on to the next that can be it */
            s = memchr(s, *pat, (size_t)(end - s));
            if (s == NULL)
                return false;
            resume = s;
        } else {
            return false;
        }
    }
}
