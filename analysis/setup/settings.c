/* setup/settings.c -- settings by key and by name. */
#include "analysis/setup/settings.h"
#include "analysis/setup/keys.h"
#include "analysis/base/key.h"
#include "analysis/setup/shape.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum mt_rc no_memory(struct mt_err *err) { return mt_fail(err, MT_ENOMEM, "out of memory"); }

/* ---- the index ---- */

/* A flag is looked up as "--max-tokens-per-gpu", however its dashes were written, and so is what a
 * Python script sets; everything else as it stands. */
static const char *slot_key(struct mt_runconf *rc, const struct mt_conf_entry *e)
{
    size_t n = strlen(e->key);
    char *s;
    if (e->form != MT_CONF_FLAG && e->form != MT_CONF_PYTHON)
        return e->key;
    s = mt_arena_alloc(&rc->arena, n + 3, 1);
    if (s == NULL)
        return NULL;
    s[0] = s[1] = '-';
    for (size_t i = 0; i <= n; i++)
        s[i + 2] = e->key[i] == '_' ? '-' : e->key[i];
    return s;
}

static int by_key(const void *pa, const void *pb)
{
    const struct mt_runconf_slot *a = pa, *b = pb;
    int c = strcmp(a->key, b->key);
    if (c != 0)
        return c;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* own: a key of the run's program, whose command line takes what its file has, with dashes. */
static const struct mt_conf_entry *look_up_of(const struct mt_runconf *rc,
                                              const struct mt_runconf_setting *s, const char *key,
                                              bool own)
{
    const struct mt_conf_entry *e =
        strchr(key, '*') != NULL ? mt_runconf_shaped(rc, s, key) : mt_runconf_look_up(rc, key);
    char flag[MT_CONF_KEY + 3];
    if (e != NULL || !own || strpbrk(key, "*.+-") != NULL)
        return e;
    (void)snprintf(flag, sizeof flag, "--%s", key);
    return mt_runconf_look_up_flag(rc, flag);
}

/* ---- the model's name ---- */

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key;
}

/* last: only what follows the last dot of both. */
static bool is_key_of(const struct mt_runconf *rc, const char *key, const char *setting, bool last)
{
    const struct mt_runconf_setting *s = mt_runconf_setting(rc, setting, strlen(setting));
    bool is = s != NULL && mt_same_key(key, setting);
    for (uint32_t i = 0; s != NULL && !is && i < s->n; i++) {
        const char *own = rc->keys.p[s->first + i].key;
        is = mt_same_key(key, last ? last_part(own) : own);
    }
    return is;
}

/* Looks at an entry once, when it is added: later its value may be shown with names taken out.
 * false = out of memory. A shape counts wherever it is nested: "override_config.num_hidden_layers"
 * makes another model of the one that is named. */
static bool look_for_model(struct mt_runconf *rc, uint32_t entry)
{
    static const char *const shape[] = {"layers", "hidden", "heads", "kv_heads"};
    const struct mt_conf_entry *e = &rc->conf.entries.p[entry];
    struct mt_runconf_named n = {entry, -1}, *slot;
    if (e->value == NULL)
        return true;
    for (size_t i = 0; !rc->has_shape && i < sizeof shape / sizeof *shape; i++)
        rc->has_shape = is_key_of(rc, last_part(e->key), shape[i], true);
    if (!e->is_variable && is_key_of(rc, e->key, "model_path", false))
        n.name = mt_models_find(&rc->models, e->value);
    if (n.name < 0)
        return true;
    slot = MT_VEC_PUSH(&rc->named);
    if (slot != NULL)
        *slot = n;
    return slot != NULL;
}

/* The index of the model that the run's settings name, and the entry that does; or else that a
 * person's words name, without an entry. -1 = no such model, or its shape is set. */
static int named_model(const struct mt_runconf *rc, const struct mt_conf_entry **by)
{
    struct mt_runconf_hit hit;
    *by = NULL;
    if (rc->has_shape || (rc->named.n == 0 && rc->spoken == 0))
        return -1;
    if (!mt_runconf_find(rc, "model_path", &hit))
        return rc->spoken - 1;
    for (uint32_t i = 0; i < rc->named.n; i++)
        if (hit.entry == &rc->conf.entries.p[rc->named.p[i].entry]) {
            *by = hit.entry;
            return rc->named.p[i].name;
        }
    return -1;
}

static bool count(struct mt_runconf *rc, uint32_t entry)
{
    uint32_t *slot;
    if (!mt_runconf_countable(&rc->conf.entries.p[entry]))
        return true;
    slot = MT_VEC_PUSH(&rc->countable);
    if (slot != NULL)
        *slot = entry;
    return slot != NULL;
}

enum mt_rc mt_runconf_added(struct mt_runconf *rc, enum mt_runconf_from from, struct mt_err *err)
{
    enum mt_rc status = MT_OK;
    while (rc->from.n < rc->conf.entries.n) {
        const struct mt_conf_entry *e = &rc->conf.entries.p[rc->from.n];
        struct mt_runconf_slot *s = MT_VEC_PUSH(&rc->slots);
        uint8_t *f = MT_VEC_PUSH(&rc->from);
        const char *key = slot_key(rc, e);
        uint8_t by = (uint8_t)(e->is_default ? MT_FROM_DEFAULT : from);
        if (s == NULL || f == NULL || key == NULL) {
            rc->slots.n -= s != NULL;
            rc->from.n -= f != NULL;
            status = no_memory(err);
            break;
        }
        *f = by;
        *s = (struct mt_runconf_slot){.key = key, .entry = rc->from.n - 1, .from = by};
        if (!look_for_model(rc, rc->from.n - 1) || !count(rc, rc->from.n - 1)) {
            status = no_memory(err);
            break;
        }
    }
    /* Whoever asked may go on with the other inputs: what is not in all lists is in none. */
    rc->conf.entries.n = rc->from.n;
    rc->is_partial |= rc->conf.goes_on;
    if (rc->slots.n > 1)
        qsort(rc->slots.p, rc->slots.n, sizeof *rc->slots.p, by_key);
    mt_runconf_guess(rc);
    return status;
}

/* ---- asking ---- */

/* "engine:d2t2" -> 2 for "t", "engine" for "name"; a letter that is not there is 1. Constants only:
 * nothing is allocated. */
static const char *part_of(const struct mt_runconf *rc, const char *value, const char *part)
{
    static const char *const numbers[] = {"1",  "2",  "3",  "4",  "5",  "6",   "7",   "8",  "12",
                                          "16", "24", "32", "48", "64", "128", "256", "512"};
    const char *colon = strchr(value, ':');
    if (strcmp(part, "name") == 0) {
        for (int f = 1; f < mt_framework_count(rc->rules); f++) {
            const struct mt_framework *row = mt_framework_at(rc->rules, f);
            size_t n = strlen(row->id);
            if (row->one_of[0] != '\0' && strncmp(value, row->id, n) == 0 &&
                (colon == NULL || colon == value + n))
                return row->id;
        }
        return NULL;
    }
    if (colon == NULL)
        return NULL;
    for (const char *p = colon + 1; *p != '\0'; p++) {
        if (*p != part[0] || (p[1] < '0' || p[1] > '9'))
            continue;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            size_t n = strlen(numbers[i]);
            if (strncmp(p + 1, numbers[i], n) == 0 && (p[1 + n] < '0' || p[1 + n] > '9'))
                return numbers[i];
        }
        return NULL;
    }
    return "1";
}

static void fill(const struct mt_runconf *rc, struct mt_runconf_hit *hit,
                 const struct mt_conf_entry *e, const struct mt_runconf_key *k)
{
    hit->entry = e;
    hit->key = k;
    hit->is_default = hit->is_prefixed = false;
    hit->model = NULL;
    hit->value = e->is_variable ? NULL : e->value;
    if (hit->value != NULL && k != NULL && k->part != NULL)
        hit->value = part_of(rc, hit->value, k->part);
}

/* What is not set has its default where something of the framework is set at all: of a log alone
 * nobody knows what the run was set to, nor where its list of arguments was cut off. */
static bool has_defaults(const struct mt_runconf *rc)
{
    return (rc->any || rc->forced) && !rc->is_partial;
}

bool mt_runconf_is_fragment(const struct mt_runconf *rc)
{
    enum { FEW = 4 }; /* a run has more to say */
    struct mt_runconf_hit hit;
    if (rc->conf.started.n != 0 || rc->conf.entries.n == 0 || rc->conf.entries.n > FEW ||
        rc->has_shape)
        return false;
    for (uint32_t i = 0; i < rc->conf.entries.n; i++)
        if (rc->conf.entries.p[i].form > MT_CONF_TOML || rc->from.p[i] != MT_FROM_CONFIG)
            return false;
    return !mt_runconf_find(rc, "model_path", &hit) || hit.entry == NULL;
}

static bool is_ours(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    return rc->framework > MT_FW_NONE && k->framework == rc->framework;
}

/* The engine or the trainer's backend that the settings name; MT_FW_NONE = neither does. */
static mt_fw named(const struct mt_runconf *rc, const char *setting)
{
    struct mt_runconf_hit hit;
    bool found = mt_runconf_find(rc, setting, &hit) && hit.value != NULL;
    for (int f = 1; found && f < mt_framework_count(rc->rules); f++)
        if (strcmp(mt_framework_at(rc->rules, f)->id, hit.value) == 0)
            return (mt_fw)f;
    return MT_FW_NONE;
}

/* The key of an engine or a backend that is not the run's is read by nobody. */
static bool is_read(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    mt_fw other;
    if (k->of == MT_FW_NONE)
        return true;
    other =
        named(rc, mt_framework_at(rc->rules, k->of)->kind == MT_FWK_ENGINE ? "engine" : "strategy");
    return other == MT_FW_NONE || other == k->of;
}

static bool is_truth(const char *value)
{
    return value != NULL && (mt_same_word(value, "true") || mt_same_word(value, "false"));
}

/* false = something that is set tells that the default may not hold. */
static bool take_default(const struct mt_runconf *rc, const struct mt_runconf_key *k,
                         struct mt_runconf_hit *hit)
{
    const struct mt_conf_entry *e;
    if (is_truth(k->fallback) && mt_runconf_prefixed(rc, k->key, &e)) {
        if (e == NULL)
            return false;
        fill(rc, hit, e, k);
        return hit->is_prefixed = true;
    }
    hit->key = k;
    hit->value = k->fallback;
    hit->is_default = true;
    return true;
}

static bool default_of_key(const struct mt_runconf *rc, const char *key, struct mt_runconf_hit *hit)
{
    uint32_t n;
    const uint32_t *own = mt_runconf_own_keys(rc, &n);
    for (uint32_t i = 0; has_defaults(rc) && i < n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[own[i]];
        if (k->fallback != NULL && k->part == NULL && mt_same_key(k->key, key))
            return take_default(rc, k, hit);
    }
    for (uint32_t i = 0; rc->conf.entries.n != 0 && i < rc->keys.n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[i];
        const struct mt_conf_entry *e;
        if (is_truth(k->fallback) && k->part == NULL && mt_same_key(k->key, key))
            return mt_runconf_prefixed(rc, key, &e) && e != NULL && take_default(rc, k, hit);
    }
    return false;
}

/* A fact of the model that the run names. */
static bool find_by_name(const struct mt_runconf *rc, const struct mt_runconf_setting *s,
                         struct mt_runconf_hit *hit)
{
    const struct mt_conf_entry *e = NULL;
    int name = -1;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[s->first + i];
        if (k->framework != MT_FW_NONE)
            continue;
        if (name < 0 && (name = named_model(rc, &e)) < 0)
            return false;
        hit->value = mt_models_fact(&rc->models, name, k->key);
        if (hit->value == NULL)
            continue;
        hit->entry = e;
        hit->is_default = e == NULL;
        hit->key = k;
        hit->model = rc->models.names.p[name].name;
        return true;
    }
    return false;
}

/* Whose words of advice a framework has. Those of one column take each other's flags. */
static int column_of(const struct mt_runconf *rc, int f)
{
    const struct mt_framework *row = mt_framework_at(rc->rules, f);
    return row->order_as != MT_FW_NONE ? row->order_as : f;
}

/* The framework of the run has a key of that name too, for a setting of its own. */
static bool means_another(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    int f = k->framework, run = rc->framework;
    uint32_t n;
    const uint32_t *own = mt_runconf_own_keys(rc, &n);
    if (run <= MT_FW_NONE || column_of(rc, run) == column_of(rc, f) ||
        (mt_framework_at(rc->rules, run)->drives & MT_FW_BIT(f)) != 0)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (mt_same_key(rc->keys.p[own[i]].key, k->key))
            return true;
    return false;
}

/* An engine runs, with a key of its own for that setting, and this key is another engine's: the two
 * are compared. */
static bool is_of_rival(const struct mt_runconf *rc, const struct mt_runconf_setting *s,
                        const char *key)
{
    const struct mt_framework *run = mt_framework_at(rc->rules, rc->framework);
    bool own = false, rival = false;
    if (rc->framework <= MT_FW_NONE || run->kind != MT_FWK_ENGINE)
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[s->first + i];
        own |= (int)k->framework == rc->framework;
        rival |= mt_same_key(k->key, key) && (int)k->framework != rc->framework &&
                 mt_framework_at(rc->rules, k->framework)->kind == MT_FWK_ENGINE;
    }
    return own && rival;
}

/* A framework of reinforcement learning has the key alone, and the command starts a script that is
 * not its own: what it means there, nobody knows. */
static bool means_nothing(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    return rc->foreign && rc->framework <= MT_FW_NONE && !k->is_common &&
           k->framework > MT_FW_NONE && mt_framework_is_rl(rc->rules, k->framework) &&
           mt_runconf_is_own(rc, k);
}

/* Of no key that any program has, but of one's name with a word before it. */
static bool find_prefixed(const struct mt_runconf *rc, const struct mt_runconf_setting *s,
                          struct mt_runconf_hit *hit)
{
    const struct mt_conf_entry *e;
    for (uint32_t i = 0; rc->conf.entries.n != 0 && i < s->n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[s->first + i];
        if (is_truth(k->fallback) && k->part == NULL && is_read(rc, k) &&
            mt_runconf_prefixed(rc, k->key, &e) && e != NULL) {
            fill(rc, hit, e, k);
            return hit->is_prefixed = true;
        }
    }
    return false;
}

/* A file for a library that the program fills in: DeepSpeed's "auto". */
static bool is_left_to_others(const struct mt_conf_entry *e)
{
    return e->value != NULL && strcmp(e->value, "auto") == 0;
}

bool mt_runconf_find(const struct mt_runconf *rc, const char *key, struct mt_runconf_hit *hit)
{
    const struct mt_runconf_setting *s;
    const struct mt_conf_entry *e;
    memset(hit, 0, sizeof *hit);
    if (rc == NULL)
        return false;
    s = mt_runconf_setting(rc, key, strlen(key));
    if (s == NULL) {
        e = mt_runconf_look_up(rc, key);
        if (e != NULL)
            fill(rc, hit, e, NULL);
        return e != NULL || default_of_key(rc, key, hit);
    }
    /* The framework's own keys first: a file for another program may lie beside. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < s->n; i++) {
            const struct mt_runconf_key *k = &rc->keys.p[s->first + i];
            if (is_ours(rc, k) != (pass == 0) ||
                (e = look_up_of(rc, s, k->key, pass == 0)) == NULL || !is_read(rc, k) ||
                (pass != 0 && (is_of_rival(rc, s, k->key) || means_another(rc, k) ||
                               means_nothing(rc, k) || is_left_to_others(e))))
                continue;
            fill(rc, hit, e, k);
            return true;
        }
    }
    /* A key that merely has the logical name: settings of no framework. */
    if ((e = mt_runconf_look_up(rc, key)) != NULL && !is_of_rival(rc, s, key)) {
        fill(rc, hit, e, NULL);
        return true;
    }
    if (find_by_name(rc, s, hit) || find_prefixed(rc, s, hit))
        return true;
    for (uint32_t i = 0; has_defaults(rc) && i < s->n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[s->first + i];
        if (is_ours(rc, k) && k->fallback != NULL && k->part == NULL && is_read(rc, k))
            return take_default(rc, k, hit);
    }
    return false;
}

bool mt_runconf_has_key(const struct mt_runconf *rc, const char *name, const char *key)
{
    const struct mt_runconf_setting *s = mt_runconf_setting(rc, name, strlen(name));
    for (uint32_t i = 0; s != NULL && i < s->n; i++)
        if (mt_same_key(rc->keys.p[s->first + i].key, key))
            return true;
    return false;
}

bool mt_runconf_knows(const struct mt_runconf *rc, const char *key, bool *ours)
{
    bool known = false;
    *ours = false;
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[i];
        if (!mt_same_key(k->key, key))
            continue;
        known = true;
        *ours = *ours || rc->framework <= MT_FW_NONE || is_ours(rc, k) || k->is_common ||
                !mt_framework_is_main(rc->rules, k->framework);
    }
    return known;
}

const char *mt_runconf_get(const struct mt_runconf *rc, const char *key)
{
    struct mt_runconf_hit hit;
    return mt_runconf_find(rc, key, &hit) && !hit.is_default ? hit.value : NULL;
}

bool mt_runconf_number(const char *value, uint64_t *out)
{
    uint64_t v = 0;
    if (value == NULL || *value == '\0')
        return false;
    for (; *value != '\0'; value++) {
        if (*value < '0' || *value > '9' || v > UINT64_MAX / 10 - 1)
            return false;
        v = v * 10 + (uint64_t)(*value - '0');
    }
    *out = v;
    return true;
}

char *mt_runconf_where(char *buf, size_t cap, const struct mt_conf_entry *e)
{
    if (e->line != 0)
        (void)snprintf(buf, cap, "%s:%u", e->source, (unsigned)e->line);
    else
        (void)snprintf(buf, cap, "%s", e->source);
    return buf;
}
