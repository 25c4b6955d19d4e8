#include "analysis/base/key.h"

#include <string.h>

bool mt_same_key(const char *a, const char *b)
{
    bool flag = strncmp(a, "--", 2) == 0 || strncmp(b, "--", 2) == 0;
    a += strncmp(a, "--", 2) == 0 ? 2 : strspn(a, "+");
    b += strncmp(b, "--", 2) == 0 ? 2 : strspn(b, "+");
    while (*a != '\0' && (*a == *b || (flag && (*a == '-' ? '_' : *a) == (*b == '-' ? '_' : *b))))
        a++, b++;
    return *a == *b;
}
