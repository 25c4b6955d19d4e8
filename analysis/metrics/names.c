/* metrics/names.c -- which metrics there are. */
#include "analysis/metrics/impl.h"

#include <stdlib.h>

static const struct {
    const char *name, *words;
    size_t n; /* of the name */
} table[] = {
#define MT_METRIC(name, unit, words) {#name, words, sizeof #name - 1},
#include "analysis/metrics/metrics.def"
#undef MT_METRIC
};

const char *mt_metric_name(enum mt_metric m) { return table[m].name; }
const char *mt_metric_words(enum mt_metric m) { return table[m].words; }

int mt_metric_find(const char *name, size_t n)
{
    for (int i = 0; i < (int)MT_METRIC_COUNT; i++) {
        if (table[i].n == n && table[i].name[0] == name[0] && memcmp(table[i].name, name, n) == 0)
            return i;
    }
    return -1;
}

/* By their lengths, then by their bytes. */
static int compare(const void *pa, const void *pb)
{
    const struct mt_metric_name *a = pa, *b = pb;
    return a->n != b->n ? (a->n < b->n ? -1 : 1) : memcmp(a->name, b->name, a->n);
}

bool mt_metric_sort(struct mt_metric_rules *rules)
{
    uint32_t rows = rules->row.n;
    for (uint32_t i = 0; i < MT_METRIC_COUNT + rows; i++) {
        struct mt_metric_name *slot = MT_VEC_PUSH(&rules->by_name);
        int row = (int)(i - MT_METRIC_COUNT);
        if (slot == NULL)
            return false;
        if (i < MT_METRIC_COUNT)
            *slot = (struct mt_metric_name){table[i].name, (uint32_t)table[i].n, (int)i, -1};
        else
            *slot = (struct mt_metric_name){rules->row.p[row].name,
                                            (uint32_t)strlen(rules->row.p[row].name), -1, row};
    }
    qsort(rules->by_name.p, rules->by_name.n, sizeof *rules->by_name.p, compare);
    return true;
}

struct mt_metric_name mt_metric_named(const struct mt_metric_rules *rules, const char *name,
                                      size_t n)
{
    const struct mt_metric_name key = {name, (uint32_t)n, -1, -1};
    const struct mt_metric_name *found =
        bsearch(&key, rules->by_name.p, rules->by_name.n, sizeof key, compare);
    return found != NULL ? *found : key;
}

bool mt_metric_begins(const char *name, size_t n, const char *family)
{
    return n > strlen(family) && memcmp(name, family, strlen(family)) == 0;
}

static bool is_setting(const struct mt_runconf *conf, const char *name, size_t n)
{
    return conf != NULL && mt_runconf_setting(conf, name, n) != NULL;
}

static bool is_framework(const struct mt_runconf *conf, const char *id, size_t n)
{
    char name[48];
    if (conf == NULL || n >= sizeof name)
        return false;
    memcpy(name, id, n);
    name[n] = 0;
    return mt_framework_find(conf->rules, name) > MT_FW_NONE;
}

bool mt_metric_exists(void *names, const char *name, size_t n)
{
    const struct mt_metric_names *k = names;
    if (mt_metric_begins(name, n, "setting."))
        return is_setting(k->settings, name + 8, n - 8);
    if (mt_metric_begins(name, n, "set."))
        return is_setting(k->settings, name + 4, n - 4);
    if (mt_metric_begins(name, n, "named."))
        return is_framework(k->settings, name + 6, n - 6);
    if (mt_metric_begins(name, n, "role.") || mt_metric_begins(name, n, "peak."))
        return mt_role_find(name + 5, n - 5) >= 0;
    if (mt_metric_begins(name, n, "life."))
        return mt_life_find(name + 5, n - 5) >= 0;
    return mt_metric_find(name, n) >= 0 || mt_metric_row_find(k->rules, name, n) >= 0;
}
