#include "analysis/base/glob.h"

bool mt_glob(const char *pat, const char *s, size_t n)
{
    const char *end = s + n, *star = NULL, *resume = NULL;
    for (;;) {
        if (*pat == '*') {
            star = pat++;
            resume = s;
        } else if (s < end && *pat == *s) {
            pat++;
            s++;
        } else if (s == end && *pat == '\0') {
            return true;
        } else if (star != NULL && resume < end) {
            pat = star + 1;
            s = ++resume;
        } else {
            return false;
        }
    }
}
