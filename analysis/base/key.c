#include "analysis/base/key.h"

#include <string.h>

/* What stands before the name: "--" or any number of '+'. */
static const char *name_of(const char *key, bool *flag)
{
    if (key[0] == '-' && key[1] == '-') {
        *flag = true;
        return key + 2;
    }
    while (*key == '+')
        key++;
    return key;
}

bool mt_same_key(const char *a, const char *b)
{
    bool flag = false;
    a = name_of(a, &flag);
    b = name_of(b, &flag);
    while (*a != '\0' && (*a == *b || (flag && (*a == '-' ? '_' : *a) == (*b == '-' ? '_' : *b))))
        a++, b++;
    return *a == *b;
}
