/* setup/names.c -- the names of settings.json, sorted, and its keys by framework: one diagnosis
 * asks for hundreds. */
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

bool mt_runconf_sort_keys(struct mt_runconf *rc)
{
    for (int f = 0; f <= MT_FW_MAX; f++) {
        rc->first_of[f] = rc->by_framework.n;
        for (uint32_t i = 0; i < rc->keys.n; i++) {
            uint32_t *slot;
            if ((int)rc->keys.p[i].framework != f)
                continue;
            if ((slot = MT_VEC_PUSH(&rc->by_framework)) == NULL)
                return false;
            *slot = i;
        }
    }
    return true;
}

const uint32_t *mt_runconf_own_keys(const struct mt_runconf *rc, uint32_t *n)
{
    bool any = rc->framework > MT_FW_NONE && rc->framework < MT_FW_MAX;
    *n = any ? rc->first_of[rc->framework + 1] - rc->first_of[rc->framework] : 0;
    return any ? rc->by_framework.p + rc->first_of[rc->framework] : NULL;
}
