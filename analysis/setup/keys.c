/* setup/keys.c -- numbers of what the run was set to. */
#include "analysis/setup/keys.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <string.h>

struct mt_value mt_setting_number(const char *value)
{
    static const char *const on[] = {"", "true", "yes", "on", "full", "selective"}, *const off[] = {
                                                                                        "false",
                                                                                        "no",
                                                                                        "off"};
    struct mt_value none = {0, false, MT_CONF_NONE}, v = {0, true, MT_CONF_MARKED};
    double place = 0.1;
    bool digits = false, minus = false;
    const char *s = value;

    if (s == NULL)
        return none;
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        if (mt_same_word(s, on[i]))
            return v.v = 1, v;
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        if (mt_same_word(s, off[i]))
            return v;
    }
    if (*s == '-')
        minus = true, s++;
    for (; *s >= '0' && *s <= '9' && v.v < 1e18; s++, digits = true)
        v.v = v.v * 10 + (*s - '0');
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++, place /= 10, digits = true)
            v.v += place * (*s - '0');
    }
    if (!digits || *s != 0)
        return none;
    v.v = minus ? -v.v : v.v;
    return v;
}

/* Set by the run, by the model's name, or the framework's default. The last two are less certain:
 * defaults move with versions, and a checkpoint may be called like a model that it no longer is. */
struct mt_value mt_metric_setting(const struct mt_runconf *conf, const char *name, size_t n)
{
    struct mt_runconf_hit hit;
    struct mt_value v;
    char key[64];
    if (conf == NULL || n >= sizeof key)
        return (struct mt_value){0, false, MT_CONF_NONE};
    memcpy(key, name, n);
    key[n] = 0;
    if (!mt_runconf_find(conf, key, &hit))
        return (struct mt_value){0, false, MT_CONF_NONE};
    v = mt_setting_number(hit.value);
    if ((hit.is_default || hit.model != NULL) && v.conf > MT_CONF_CARRIED)
        v.conf = MT_CONF_CARRIED;
    return v;
}

double mt_run_number(const struct mt_runconf *conf, const char *name)
{
    struct mt_runconf_hit hit;
    struct mt_value v;
    if (conf == NULL || !mt_runconf_find(conf, name, &hit))
        return 0;
    v = mt_setting_number(hit.value);
    return v.known && v.v > 0 && v.v < 1e15 ? v.v : 0;
}

const char *mt_run_word(const struct mt_runconf *conf, const char *name)
{
    struct mt_runconf_hit hit;
    return conf != NULL && mt_runconf_find(conf, name, &hit) ? hit.value : NULL;
}

bool mt_run_is_set(const struct mt_runconf *conf, const char *key)
{
    struct mt_runconf_hit hit;
    return conf != NULL && mt_runconf_find(conf, key, &hit) && !hit.is_default &&
           !mt_runconf_is_false(hit.value);
}

/* The longest sequence that the settings allow. Where one of the two bounds is not known the other
 * is still no less than a sequence may be. */
static struct mt_value longest(const struct mt_runconf *conf)
{
    struct mt_value prompt = mt_metric_setting(conf, "max_prompt_len", 14),
                    response = mt_metric_setting(conf, "max_response_len", 16);
    if (!prompt.known || !response.known)
        return prompt.known ? prompt : response;
    prompt.v += response.v;
    prompt.conf = prompt.conf < response.conf ? prompt.conf : response.conf;
    return prompt;
}

static bool is_name(const char *name, size_t n, const char *want)
{
    return strlen(want) == n && memcmp(name, want, n) == 0;
}

/* A key below this place is set, however it is written: "+a.b=1" adds it. */
static bool any_below(const struct mt_runconf *conf, const char *place)
{
    for (uint32_t i = 0; place[0] != '\0' && i < conf->conf.entries.n; i++) {
        const struct mt_conf_entry *e = &conf->conf.entries.p[i];
        if (e->value != NULL && strncmp(e->key, place, strlen(place)) == 0)
            return true;
    }
    return false;
}

/* Defaults name nothing: they hold for whoever sets nothing, whatever runs. */
static bool is_named(const struct mt_runconf *conf, const struct mt_fw_naming *by)
{
    const char *value = by->setting[0] != '\0' ? mt_runconf_get(conf, by->setting) : NULL;
    for (const char *const *is = by->is; value != NULL && *is != NULL; is++)
        if (mt_same_word(value, *is))
            return true;
    return false;
}

uint64_t mt_run_names(const struct mt_runconf *conf)
{
    uint64_t named = 0, below = 0;
    if (conf == NULL)
        return 0;
    for (int f = 1; f < mt_framework_count(conf->rules); f++)
        for (const struct mt_fw_naming *by = mt_framework_at(conf->rules, f)->named_by;
             by->setting != NULL; by++) {
            named |= is_named(conf, by) ? MT_FW_BIT(f) : 0;
            below |= any_below(conf, by->keys_below) ? MT_FW_BIT(f) : 0;
        }
    /* places name one of a family, or none */
    for (const uint64_t *family = mt_framework_families(conf->rules); *family != 0; family++) {
        uint64_t here = below & *family;
        if ((named & *family) == 0 && (here & (here - 1)) == 0)
            named |= here;
    }
    return named;
}

/* Whether the settings name that backend or engine: 0 too where none are known. */
static struct mt_value is_named_row(const struct mt_runconf *conf, const char *id, size_t n)
{
    struct mt_value v = {0, true, MT_CONF_MARKED};
    for (int f = 1; conf != NULL && f < mt_framework_count(conf->rules); f++)
        if (is_name(id, n, mt_framework_at(conf->rules, f)->id))
            v.v = (mt_run_names(conf) >> f & 1) != 0;
    return v;
}

/* Whether the run itself sets that name of settings.json to something: defaults do not count. */
static struct mt_value is_set(const struct mt_runconf *conf, const char *name, size_t n)
{
    struct mt_value v = {0, true, MT_CONF_MARKED};
    struct mt_runconf_hit hit;
    char key[64];
    (void)snprintf(key, sizeof key, "%.*s", (int)n, name);
    v.v = conf != NULL && mt_runconf_find(conf, key, &hit) && !hit.is_default;
    return v;
}

struct mt_value mt_metric_of_run(const struct mt_runconf *conf, const char *name, size_t n)
{
    struct mt_value v = {0, true, MT_CONF_MARKED};
    if (n > 8 && memcmp(name, "setting.", 8) == 0)
        return mt_metric_setting(conf, name + 8, n - 8);
    if (n > 6 && memcmp(name, "named.", 6) == 0)
        return is_named_row(conf, name + 6, n - 6);
    if (n > 4 && memcmp(name, "set.", 4) == 0)
        return is_set(conf, name + 4, n - 4);
    if (is_name(name, n, "longest"))
        return longest(conf);
    if (is_name(name, n, "configured"))
        v.v = conf != NULL && conf->any && !conf->engine_only && !conf->is_partial;
    else if (is_name(name, n, "no_expandable"))
        v.v = conf != NULL && conf->no_expandable;
    else if (is_name(name, n, "host_full"))
        v.v = conf != NULL && conf->host_full;
    else if (is_name(name, n, "kv_refused"))
        v.v = conf != NULL && conf->kv_refused;
    else
        v.known = false;
    return v;
}
