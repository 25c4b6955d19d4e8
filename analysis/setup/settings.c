/* setup/settings.c -- settings by key and by name. */
#include "analysis/setup/settings.h"
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

/* The entry of a key that holds; NULL when there is none or it was removed. */
static const struct mt_conf_entry *look_up(const struct mt_runconf *rc, const char *key)
{
    const struct mt_config *own = rc->own != NULL ? rc->own : &rc->snapshots;
    uint32_t lo = 0, hi = rc->slots.n;
    const struct mt_conf_entry *e;
    for (uint32_t i = own->entries.n; i-- > 0;)
        if (strcmp(own->entries.p[i].key, key) == 0)
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

/* Files write a flag's name with underscores or dashes and without the leading ones. */
static const struct mt_conf_entry *look_up_flag(const struct mt_runconf *rc, const char *flag)
{
    char name[MT_CONF_KEY + 1];
    const struct mt_conf_entry *e;
    size_t n = strlen(flag);
    if (n > MT_CONF_KEY)
        return NULL;
    for (size_t i = 0; i <= n; i++)
        name[i] = i >= 2 && flag[i] == '_' ? '-' : flag[i];
    e = look_up(rc, name);
    if (e == NULL)
        e = look_up(rc, name + 2);
    for (size_t i = 2; i < n; i++)
        if (name[i] == '-')
            name[i] = '_';
    return e != NULL ? e : look_up(rc, name + 2);
}

static const struct mt_conf_entry *look_up_any(const struct mt_runconf *rc, const char *key)
{
    for (uint32_t i = rc->n_tried; i-- > 0;)
        if (mt_same_key(rc->tried[i].key, key))
            return &rc->tried[i];
    key += strspn(key, "+");
    return strncmp(key, "--", 2) == 0 ? look_up_flag(rc, key) : look_up(rc, key);
}

/* own: a key of the run's program, whose command line takes what its file has, with dashes. */
static const struct mt_conf_entry *look_up_of(const struct mt_runconf *rc,
                                              const struct mt_runconf_setting *s, const char *key,
                                              bool own)
{
    const struct mt_conf_entry *e =
        strchr(key, '*') != NULL ? mt_runconf_shaped(rc, s, key) : look_up_any(rc, key);
    char flag[MT_CONF_KEY + 3];
    if (e != NULL || !own || strpbrk(key, "*.+-") != NULL)
        return e;
    (void)snprintf(flag, sizeof flag, "--%s", key);
    return look_up_flag(rc, flag);
}

static bool shares_settings(const struct mt_runconf *rc, int f, int of)
{
    return mt_framework_shares_settings(rc->rules, f, of);
}

/* The name of what was started says more than any number of keys. */
enum { OWN = 16, STARTED = 1 << 20 };

/* What a key that is set says for its framework: much where no other one has it, little where
 * several do ("--per-device-train-batch-size" is TRL's and everybody's). */
static uint32_t weight(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        const struct mt_runconf_key *other = &rc->keys.p[i];
        if (other->framework != k->framework && mt_framework_is_main(rc->rules, other->framework) &&
            !shares_settings(rc, other->framework, k->framework) &&
            !shares_settings(rc, k->framework, other->framework) && mt_same_key(other->key, k->key))
            return 1;
    }
    return OWN;
}

/* The framework whose own keys are set most often. Of equals it is the one whose flags the others
 * share, else the earlier row, and then it is not sure. */
static bool is_engine(const struct mt_runconf *rc, int f)
{
    return f > MT_FW_NONE && mt_framework_at(rc->rules, f)->kind == MT_FWK_ENGINE;
}

/* Only what an engine was started with is known, as a log prints it. */
static bool only_engine(const struct mt_runconf *rc, const uint32_t hits[MT_FW_MAX])
{
    bool any = false;
    for (int f = 1; f < mt_framework_count(rc->rules); f++) {
        if (hits[f] != 0 && !is_engine(rc, f))
            return false;
        any |= hits[f] != 0;
    }
    return any;
}

/* Lines name a package. Which program of it runs, or what drives it from above, the settings may
 * know: an Axolotl job fails in TRL's files. */
static bool runs_above(const struct mt_runconf *rc, int f, const uint32_t hits[MT_FW_MAX])
{
    const struct mt_framework *row = mt_framework_at(rc->rules, f);
    return rc->told > MT_FW_NONE && f > MT_FW_NONE &&
           (row->program_in == rc->told || (mt_framework_is_program(rc->rules, f) &&
                                            hits[f] >= OWN && (row->drives >> rc->told & 1) != 0));
}

/* The command starts a script of somebody's, and nothing that a framework is started by. */
static bool starts_foreign(const struct mt_runconf *rc)
{
    bool script = false;
    for (uint32_t i = 0; i < rc->conf.started.n; i++) {
        const char *name = rc->conf.started.p[i];
        size_t n = strlen(name);
        if (mt_framework_of_start(rc->rules, name) != MT_FW_NONE)
            return false;
        script |= n > 3 && strcmp(name + n - 3, ".py") == 0 && strchr(name, ' ') == NULL;
    }
    return script;
}

/* The key has been counted for its framework: another setting has the same one. */
static bool is_counted(const struct mt_runconf *rc, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (rc->keys.p[k].framework == rc->keys.p[i].framework && !rc->keys.p[k].is_common &&
            mt_same_key(rc->keys.p[k].key, rc->keys.p[i].key))
            return true;
    return false;
}

/* One option that somebody's script has in common with a program is no sign of that program:
 * "--model_path". A library's flags are there to be taken over. */
static bool is_chance(const struct mt_runconf *rc, int f, uint32_t n_keys)
{
    return rc->foreign && n_keys == 1 && f != rc->told && !(rc->forced && f == rc->framework) &&
           (mt_framework_at(rc->rules, f)->traits & MT_FWT_OWN_FLAGS) == 0;
}

static void guess_framework(struct mt_runconf *rc)
{
    uint32_t hits[MT_FW_MAX] = {0}, n_keys[MT_FW_MAX] = {0}, best = 0, ties = 0;
    bool keys = false;
    int first = -1, runs;
    rc->foreign = starts_foreign(rc);
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        mt_fw f = rc->keys.p[i].framework;
        const struct mt_conf_entry *e =
            mt_framework_is_main(rc->rules, f) && f != MT_FW_NONE && !rc->keys.p[i].is_common
                ? look_up_any(rc, rc->keys.p[i].key)
                : NULL;
        uint32_t says = e != NULL && !e->is_default /* an option that a script makes is its own */
                            ? weight(rc, &rc->keys.p[i])
                            : 0;
        hits[f] += says;
        n_keys[f] += says != 0 && !is_counted(rc, i);
    }
    for (int f = 1; f < mt_framework_count(rc->rules); f++)
        hits[f] = is_chance(rc, f, n_keys[f]) ? 0 : hits[f];
    for (int f = 1; f < mt_framework_count(rc->rules); f++)
        keys |= hits[f] != 0;
    rc->engine_only = only_engine(rc, hits);
    for (uint32_t i = 0; i < rc->conf.started.n; i++) {
        mt_fw f = mt_framework_of_start(rc->rules, rc->conf.started.p[i]);
        uint32_t says = is_engine(rc, f) ? STARTED / 2 : STARTED; /* beside a trainer: a server */
        if (f != MT_FW_NONE && hits[f] < says)
            hits[f] += says;
    }
    for (int f = 1; f < mt_framework_count(rc->rules); f++) {
        if (hits[f] > best || (best != 0 && hits[f] == best && shares_settings(rc, first, f))) {
            best = hits[f];
            first = f;
        }
    }
    runs = rc->forced ? rc->framework : rc->told;
    if (rc->engine_only && best < OWN && runs <= MT_FW_NONE) {
        /* "--model x": many a script has that */
        best = 0;
        first = -1;
        keys = rc->engine_only = false;
    }
    /* what another program was set to is not known then */
    rc->any = keys && !(rc->engine_only && runs > MT_FW_NONE && !is_engine(rc, runs));
    if (rc->forced)
        return;
    for (int f = 1; f < mt_framework_count(rc->rules); f++)
        ties += best != 0 && hits[f] == best && !shares_settings(rc, f, first);
    if (ties != 1 && !runs_above(rc, first, hits))
        first = -1; /* several fit */
    rc->framework = rc->told >= 0 && !runs_above(rc, first, hits) ? rc->told : first;
}

void mt_runconf_tell(struct mt_runconf *rc, int framework)
{
    rc->told = framework;
    guess_framework(rc);
}

int mt_runconf_run(const struct mt_runconf *rc)
{
    return rc != NULL && rc->framework >= 0 && mt_framework_is_program(rc->rules, rc->framework)
               ? rc->framework
               : -1;
}

/* ---- the model's name ---- */

static const struct mt_runconf_setting *find_setting(const struct mt_runconf *rc, const char *name)
{
    for (uint32_t i = 0; i < rc->settings.n; i++)
        if (mt_rule_same(rc->settings.p[i].name, name))
            return &rc->settings.p[i];
    return NULL;
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key;
}

/* last: only what follows the last dot of both. */
static bool is_key_of(const struct mt_runconf *rc, const char *key, const char *setting, bool last)
{
    const struct mt_runconf_setting *s = find_setting(rc, setting);
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

/* The entry that names the run's model, and the index of that model; NULL = no such model, or its
 * shape is set. */
static const struct mt_conf_entry *named_model(const struct mt_runconf *rc, int *name)
{
    struct mt_runconf_hit hit;
    if (rc->has_shape || rc->named.n == 0 || !mt_runconf_find(rc, "model_path", &hit))
        return NULL;
    for (uint32_t i = 0; i < rc->named.n; i++)
        if (hit.entry == &rc->conf.entries.p[rc->named.p[i].entry]) {
            *name = rc->named.p[i].name;
            return hit.entry;
        }
    return NULL;
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
    while (rc->from.n < rc->conf.entries.n) {
        const struct mt_conf_entry *e = &rc->conf.entries.p[rc->from.n];
        struct mt_runconf_slot *s = MT_VEC_PUSH(&rc->slots);
        uint8_t *f = MT_VEC_PUSH(&rc->from);
        const char *key = slot_key(rc, e);
        uint8_t by = (uint8_t)(e->is_default ? MT_FROM_DEFAULT : from);
        if (s == NULL || f == NULL || key == NULL) {
            rc->slots.n -= s != NULL;
            rc->from.n -= f != NULL;
            return no_memory(err);
        }
        *f = by;
        *s = (struct mt_runconf_slot){.key = key, .entry = rc->from.n - 1, .from = by};
        if (!look_for_model(rc, rc->from.n - 1) || !count(rc, rc->from.n - 1))
            return no_memory(err);
    }
    if (rc->slots.n > 1)
        qsort(rc->slots.p, rc->slots.n, sizeof *rc->slots.p, by_key);
    guess_framework(rc);
    return MT_OK;
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
    hit->is_default = false;
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

static bool take_default(const struct mt_runconf_key *k, struct mt_runconf_hit *hit)
{
    hit->key = k;
    hit->value = k->fallback;
    hit->is_default = true;
    return true;
}

static bool default_of_key(const struct mt_runconf *rc, const char *key, struct mt_runconf_hit *hit)
{
    for (uint32_t i = 0; has_defaults(rc) && i < rc->keys.n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[i];
        if (is_ours(rc, k) && k->fallback != NULL && k->part == NULL && mt_same_key(k->key, key))
            return take_default(k, hit);
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
        if (e == NULL && (e = named_model(rc, &name)) == NULL)
            return false;
        hit->value = mt_models_fact(&rc->models, name, k->key);
        if (hit->value == NULL)
            continue;
        hit->entry = e;
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
    if (run <= MT_FW_NONE || column_of(rc, run) == column_of(rc, f) ||
        (mt_framework_at(rc->rules, run)->drives & MT_FW_BIT(f)) != 0)
        return false;
    for (uint32_t i = 0; i < rc->keys.n; i++)
        if (is_ours(rc, &rc->keys.p[i]) && mt_same_key(rc->keys.p[i].key, k->key))
            return true;
    return false;
}

/* A framework of reinforcement learning has the key alone, and the command starts a script that is
 * not its own: what it means there, nobody knows. */
static bool means_nothing(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    return rc->foreign && rc->framework <= MT_FW_NONE && !k->is_common && k->framework > MT_FW_NONE &&
           mt_framework_is_rl(rc->rules, k->framework) && weight(rc, k) == OWN;
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
    s = find_setting(rc, key);
    if (s == NULL) {
        e = look_up_any(rc, key);
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
                (pass != 0 &&
                 (means_another(rc, k) || means_nothing(rc, k) || is_left_to_others(e))))
                continue;
            fill(rc, hit, e, k);
            return true;
        }
    }
    /* A key that merely has the logical name: settings of no framework. */
    if ((e = look_up_any(rc, key)) != NULL) {
        fill(rc, hit, e, NULL);
        return true;
    }
    if (find_by_name(rc, s, hit))
        return true;
    for (uint32_t i = 0; has_defaults(rc) && i < s->n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[s->first + i];
        if (is_ours(rc, k) && k->fallback != NULL && k->part == NULL && is_read(rc, k))
            return take_default(k, hit);
    }
    return false;
}

bool mt_runconf_has_key(const struct mt_runconf *rc, const char *name, const char *key)
{
    const struct mt_runconf_setting *s = find_setting(rc, name);
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

static bool is_any(const char *value, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (mt_same_word(value, *words))
            return true;
    }
    return false;
}

bool mt_runconf_is_true(const char *value)
{
    static const char *const words[] = {"true", "1", "yes", "on", "", NULL};
    return value != NULL && is_any(value, words);
}

bool mt_runconf_is_false(const char *value)
{
    static const char *const words[] = {"false", "0", "no", "off", "null", "none", "~", NULL};
    return value != NULL && is_any(value, words);
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
