/* setup/names.c -- the names of settings.json, sorted: one diagnosis asks for hundreds. */
#include "analysis/setup/keys.h"

#include <string.h>

/* By their lengths, then by their bytes. */
static int compare(const char *a, const char *b, size_t n)
{
    size_t k = strlen(a);
    return k != n ? (k < n ? -1 : 1) : memcmp(a, b, n);
}

/* Where it stands, or would. */
static uint32_t place_of(const struct mt_runconf *rc, const char *name, size_t n)
{
    uint32_t low = 0, high = rc->by_name.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (compare(rc->settings.p[rc->by_name.p[mid]].name, name, n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct mt_runconf_setting *mt_runconf_setting(const struct mt_runconf *rc, const char *name,
                                                    size_t n)
{
    uint32_t at = place_of(rc, name, n);
    const struct mt_runconf_setting *s =
        at < rc->by_name.n ? &rc->settings.p[rc->by_name.p[at]] : NULL;
    return s != NULL && compare(s->name, name, n) == 0 ? s : NULL;
}

bool mt_runconf_add_name(struct mt_runconf *rc)
{
    const char *name = rc->settings.p[rc->settings.n - 1].name;
    uint32_t at = place_of(rc, name, strlen(name)), *p;
    if (MT_VEC_PUSH(&rc->by_name) == NULL)
        return false;
    p = rc->by_name.p + at;
    memmove(p + 1, p, (rc->by_name.n - 1 - at) * sizeof *p);
    *p = rc->settings.n - 1;
    return true;
}
