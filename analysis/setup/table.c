/* setup/table.c -- the rows of settings.json and of an overlay, and the models beside them. */
#include "analysis/setup/framework_fields.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/settings.h"

#include <string.h>

/* The framework of a key; "model" is a model's config.json. */
static MT_RULE_GET(get_owner)
{
    if (!cJSON_IsString(v) || strcmp(v->valuestring, "model") != 0)
        return mt_get_framework(r, f, v, out);
    *(mt_fw *)out = MT_FW_NONE;
    return MT_OK;
}

#define AT(member) offsetof(struct mt_runconf_key, member)
static const struct mt_rule_spec key_fields[] = {
    {"framework", get_owner, AT(framework), .is_needed = true},
    {"key", mt_get_text, AT(key), .is_needed = true},
    {"part", mt_get_text, .at = AT(part)},
    {"default", mt_get_any_text, .at = AT(fallback)},
    {"source", mt_get_any_text, AT(source), .is_needed = true},
    {"common", mt_get_flag, .at = AT(is_common)},
    {"of", mt_get_framework, .at = AT(of)},
    {"printed", mt_get_text, .at = AT(printed)},
    {.name = NULL}};

static MT_RULE_GET(get_keys)
{
    struct mt_runconf *rc = r->of;
    const cJSON *c;
    uint32_t n;
    enum mt_rc e = mt_rule_count(r, f->name, v, &n);
    (void)out;
    cJSON_ArrayForEach(c, v)
    {
        struct mt_runconf_key *key = e == MT_OK ? MT_VEC_PUSH(&rc->keys) : NULL;
        if (e == MT_OK)
            e = key != NULL ? mt_rule_fields(r, c, key_fields, key) : mt_rule_nomem(r);
    }
    return e;
}

static const struct mt_rule_spec setting_fields[] = {
    {"logical", mt_get_text, offsetof(struct mt_runconf_setting, name), .is_needed = true},
    {"words", mt_get_text, .at = offsetof(struct mt_runconf_setting, words)},
    {"quiet", mt_get_flag, .at = offsetof(struct mt_runconf_setting, is_quiet)},
    {"switch", mt_get_flag, .at = offsetof(struct mt_runconf_setting, is_switch)},
    {"unlike", mt_get_texts, .at = offsetof(struct mt_runconf_setting, unlike)},
    {"keys", get_keys, .at = 0},
    {.name = NULL}};

/* Each row is looked for in all others. */
#define MAX_SETTINGS 4096

/* A setting with its keys, and with those that the overlay adds to it; words and "quiet" of the
 * overlay replace its own. */
static enum mt_rc read_setting(struct mt_rule_reader *rd, const cJSON *o)
{
    struct mt_runconf *rc = rd->of;
    struct mt_runconf_setting s = {.first = rc->keys.n}, *slot;
    struct mt_rule_reader over = *rd;
    const cJSON *more, *list = mt_framework_overlay(rc->rules, "settings", &over.file);
    enum mt_rc r;
    over.is_overlay = true;
    if (rd->id != NULL && mt_runconf_setting(rc, rd->id, strlen(rd->id)) != NULL)
        return MT_OK; /* of the overlay: its keys are there already */
    r = mt_rule_fields(rd, o, setting_fields, &s);
    if (r == MT_OK && s.words == NULL)
        r = mt_rule_bad(rd, "words", "is missing");
    cJSON_ArrayForEach(more, list)
    {
        const char *name = mt_rule_text_of(more, "logical");
        if (r == MT_OK && more != o && name != NULL && strcmp(name, s.name) == 0)
            r = mt_rule_fields(&over, more, setting_fields, &s);
    }
    s.n = rc->keys.n - s.first;
    for (uint32_t i = s.first; s.is_quiet && i < rc->keys.n; i++)
        rc->keys.p[i].is_common = true;
    if (r == MT_OK && s.n == 0)
        r = mt_rule_bad(rd, "keys", "is missing or empty");
    if (r != MT_OK)
        return r;
    if (rc->settings.n >= MAX_SETTINGS)
        return mt_rule_bad(rd, NULL, "there are more than %d settings, built-in ones included",
                           MAX_SETTINGS);
    slot = MT_VEC_PUSH(&rc->settings);
    if (slot == NULL)
        return mt_rule_nomem(rd);
    *slot = s;
    return mt_runconf_add_name(rc) ? MT_OK : mt_rule_nomem(rd);
}

/* Frameworks are named by settings that there are. */
static enum mt_rc check_names(struct mt_rule_reader *rd, const struct mt_runconf *rc)
{
    rd->kind = "framework";
    if (rd->file[0] == '\0')
        rd->file = "frameworks.json";
    for (int f = 1; f < mt_framework_count(rc->rules); f++) {
        const struct mt_framework *row = mt_framework_at(rc->rules, f);
        rd->id = row->id;
        rd->index = (unsigned)f;
        for (const struct mt_fw_naming *by = row->named_by; by->setting != NULL; by++) {
            if (by->setting[0] != '\0' &&
                mt_runconf_setting(rc, by->setting, strlen(by->setting)) == NULL)
                return mt_rule_bad(rd, "named_by", "\"%s\" is no setting", by->setting);
        }
    }
    return MT_OK;
}

static enum mt_rc read_table(struct mt_runconf *rc, struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"settings", "setting", "logical", read_setting},
                                                {.name = NULL}};
    struct mt_rule_reader rd = {.arena = &rc->arena, .err = err, .fw = rc->rules, .of = rc};
    enum mt_rc r = mt_rule_builtin(&rd, "settings.json", lists);
    const cJSON *list = mt_framework_overlay(rc->rules, "settings", &rd.file);
    rd.is_overlay = true;
    r = r == MT_OK && list != NULL ? mt_rule_each(&rd, list, lists) : r;
    if (r == MT_OK && !mt_runconf_sort_keys(rc))
        r = mt_rule_nomem(&rd);
    return r == MT_OK ? check_names(&rd, rc) : r;
}

/* What the settings look up in a model's config.json: few of all keys. */
struct config_keys {
    MT_VEC(const char *) key;
};

static enum mt_rc config_keys(struct config_keys *out, const struct mt_runconf *rc,
                              struct mt_err *err)
{
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        const char **slot;
        if (rc->keys.p[i].framework != MT_FW_NONE)
            continue;
        if ((slot = MT_VEC_PUSH(&out->key)) == NULL)
            return mt_fail(err, MT_ENOMEM, "out of memory");
        *slot = rc->keys.p[i].key;
    }
    return MT_OK;
}

/* A fact of a model may be whatever a setting looks up there. */
static bool is_model_key(void *arg, const char *key)
{
    const struct config_keys *known = arg;
    for (uint32_t i = 0; i < known->key.n; i++)
        if (mt_rule_same(known->key.p[i], key))
            return true;
    return false;
}

static void share(struct mt_runconf *rc, const struct mt_runconf *of)
{
    rc->is_sharing = true;
    rc->keys = of->keys;
    rc->settings = of->settings;
    rc->by_name = of->by_name;
    rc->by_framework = of->by_framework;
    memcpy(rc->first_of, of->first_of, sizeof rc->first_of);
    rc->models = of->models;
}

enum mt_rc mt_runconf_new(struct mt_runconf **out, const struct mt_framework_rules *rules,
                          struct mt_err *err)
{
    struct mt_runconf *rc = mt_calloc(1, sizeof *rc);
    struct mt_rule_reader models = {.err = err, .fw = rules};
    struct config_keys keys = {.key = {0}};
    const struct mt_runconf *shared = mt_framework_settings(rules);
    enum mt_rc r = MT_OK;
    *out = NULL;
    if (rc == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    rc->rules = rules;
    rc->framework = rc->told = -1;
    models.arena = &rc->arena;
    if (shared != NULL)
        share(rc, shared);
    else
        r = read_table(rc, err);
    if (shared == NULL && r == MT_OK)
        r = config_keys(&keys, rc, err);
    if (shared == NULL && r == MT_OK)
        r = mt_models_read(&rc->models, &models, is_model_key, &keys);
    MT_VEC_DONE(&keys.key);
    if (r != MT_OK) {
        mt_runconf_free(rc);
        return r;
    }
    *out = rc;
    return MT_OK;
}

void mt_runconf_free(struct mt_runconf *rc)
{
    if (rc == NULL)
        return;
    mt_conf_done(&rc->conf);
    mt_conf_done(&rc->snapshots);
    mt_arena_done(&rc->arena);
    if (!rc->is_sharing) {
        MT_VEC_DONE(&rc->keys);
        MT_VEC_DONE(&rc->settings);
        MT_VEC_DONE(&rc->by_name);
        MT_VEC_DONE(&rc->by_framework);
        mt_models_done(&rc->models);
    }
    MT_VEC_DONE(&rc->slots);
    MT_VEC_DONE(&rc->from);
    MT_VEC_DONE(&rc->countable);
    MT_VEC_DONE(&rc->named);
    mt_free(rc);
}
