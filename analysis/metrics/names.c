/* metrics/names.c -- which metrics there are. */
#include "analysis/metrics/impl.h"

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

bool mt_metric_begins(const char *name, size_t n, const char *family)
{
    return n > strlen(family) && memcmp(name, family, strlen(family)) == 0;
}

static bool is_setting(const struct mt_runconf *conf, const char *name, size_t n)
{
    for (uint32_t i = 0; conf != NULL && i < conf->settings.n; i++) {
        const char *known = conf->settings.p[i].name;
        if (n > 0 && known[0] == name[0] && strlen(known) == n && memcmp(known, name, n) == 0)
            return true;
    }
    return false;
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
