#include "analysis/base/roles.h"

#include <string.h>

static const struct {
    const char *id, *words;
} role_names[MT_ROLE_COUNT] = {
#define MT_ROLE(N, id, words) [MT_ROLE_##N] = {id, words},
#include "analysis/base/roles.def"
#undef MT_ROLE
};

const char *mt_role_id(enum mt_role r) { return role_names[r].id; }
const char *mt_role_words(enum mt_role r) { return role_names[r].words; }

int mt_role_find(const char *id, size_t n)
{
    for (int i = 0; i < MT_ROLE_COUNT; i++)
        if (n != 0 && role_names[i].id[0] == id[0] && strlen(role_names[i].id) == n &&
            memcmp(role_names[i].id, id, n) == 0)
            return i;
    return -1;
}

bool mt_role_is_gap(unsigned role) { return role == MT_ROLE_BEFORE || role == MT_ROLE_UNKNOWN; }

unsigned mt_role_order(const uint64_t bytes[MT_ROLE_COUNT], uint8_t order[MT_ROLE_COUNT])
{
    unsigned n = 0;
    for (unsigned role = 0; role < MT_ROLE_COUNT; role++) {
        unsigned k = n;
        if (bytes[role] == 0)
            continue;
        for (; k > 0 && !mt_role_is_gap(role) &&
               (mt_role_is_gap(order[k - 1]) || bytes[order[k - 1]] < bytes[role]);
             k--)
            order[k] = order[k - 1];
        order[k] = (uint8_t)role;
        n++;
    }
    return n;
}

const char *mt_life_id(enum mt_life l)
{
    static const char *const ids[MT_LIFE_COUNT] = {"unknown",     "temporary", "layer",
                                                   "micro_batch", "step",      "persistent"};
    return ids[l];
}

int mt_life_find(const char *id, size_t n)
{
    for (int i = 0; i < MT_LIFE_COUNT; i++) {
        const char *known = mt_life_id((enum mt_life)i);
        if (strlen(known) == n && memcmp(known, id, n) == 0)
            return i;
    }
    return -1;
}

const char *mt_role_why_id(enum mt_role_why w)
{
    static const char *const ids[MT_WHY_COUNT] = {
        "nothing", "pool", "frame", "size", "lifetime", "phase", "before_recording", "name"};
    return ids[w];
}
