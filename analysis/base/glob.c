#include "analysis/base/glob.h"

#include "parser/base/find.h"

#include <string.h>

/* Between two stars the first place that fits is the right one: whatever fits behind a later place
 * fits behind that as well. */
bool mt_glob(const char *pat, const char *s, size_t n)
{
    const char *end = s + n, *star = strchr(pat, '*');
    size_t k = star != NULL ? (size_t)(star - pat) : strlen(pat);
    if (n < k || memcmp(s, pat, k) != 0)
        return false;
    if (star == NULL)
        return n == k;
    for (s += k; (star = strchr(pat = star + 1, '*')) != NULL; s += k) {
        k = (size_t)(star - pat);
        if ((s = mt_find(s, (size_t)(end - s), pat, k)) == NULL)
            return false;
    }
    k = strlen(pat);
    return (size_t)(end - s) >= k && memcmp(end - k, pat, k) == 0;
}
