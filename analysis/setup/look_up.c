/* setup/look_up.c -- the entry of a key, however it is written. */
#include "analysis/base/key.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/settings.h"

#include <string.h>

/* The entry of a key that holds; NULL when there is none or it was removed. */
static const struct mt_conf_entry *look_up(const struct mt_runconf *rc, const char *key)
{
    const struct mt_config *own = rc->own != NULL ? rc->own : &rc->snapshots;
    uint32_t lo = 0, hi = rc->slots.n;
    const struct mt_conf_entry *e;
    for (uint32_t i = own->entries.n; i-- > 0;)
        if (mt_rule_same(own->entries.p[i].key, key))
            return &own->entries.p[i];
    while (lo < hi) { /* the first slot behind all of this key */
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(rc->slots.p[mid].key, key) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || strcmp(rc->slots.p[lo - 1].key, key) != 0)
        return NULL;
    e = &rc->conf.entries.p[rc->slots.p[lo - 1].entry];
    return e->value != NULL ? e : NULL;
}

/* Whether there may be a key that begins so. Of most snapshots nobody gave a setting, but nearly
 * all bring the allocator's own, and hundreds of flags are asked. */
static bool may_begin(const struct mt_runconf *rc, char first)
{
    const struct mt_config *own = rc->own != NULL ? rc->own : &rc->snapshots;
    bool any = rc->slots.n != 0 || first == '-' || first == '_';
    for (uint32_t i = 0; i < own->entries.n && !any; i++)
        any = own->entries.p[i].key[0] == first || own->entries.p[i].key[0] == '-';
    return any;
}

/* Files write a flag's name with underscores or dashes and without the leading ones. */
const struct mt_conf_entry *mt_runconf_look_up_flag(const struct mt_runconf *rc, const char *flag)
{
    char name[MT_CONF_KEY + 1];
    const struct mt_conf_entry *e;
    size_t n = strlen(flag);
    if (n < 2 || n > MT_CONF_KEY || !may_begin(rc, flag[2]))
        return NULL;
    memcpy(name, flag, n + 1);
    for (size_t i = 2; i < n; i++)
        if (name[i] == '_')
            name[i] = '-';
    e = look_up(rc, name);
    if (e == NULL)
        e = look_up(rc, name + 2);
    for (size_t i = 2; i < n; i++)
        if (name[i] == '-')
            name[i] = '_';
    return e != NULL ? e : look_up(rc, name + 2);
}

bool mt_runconf_is_unset(const struct mt_runconf *rc)
{
    const struct mt_config *own = rc->own != NULL ? rc->own : &rc->snapshots;
    return rc->slots.n == 0 && own->entries.n == 0 && rc->n_tried == 0;
}

const struct mt_conf_entry *mt_runconf_look_up(const struct mt_runconf *rc, const char *key)
{
    for (uint32_t i = rc->n_tried; i-- > 0;)
        if (mt_same_key(rc->tried[i].key, key))
            return &rc->tried[i];
    while (*key == '+')
        key++;
    return key[0] == '-' && key[1] == '-' ? mt_runconf_look_up_flag(rc, key) : look_up(rc, key);
}
