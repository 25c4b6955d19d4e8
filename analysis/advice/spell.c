/* advice/spell.c -- lines in the form of the file that the run's settings were read from: JSON and
 * TOML have no "key: value". */
#include "analysis/advice/weigh.h"

#include "parser/base/text.h"

#include <string.h>

static bool is_file(uint8_t form) { return form == MT_CONF_JSON || form == MT_CONF_TOML; }

/* A file with other settings of that place is where one more of it goes. */
static uint8_t form_of_place(const struct mt_runconf *conf, const char *key)
{
    size_t n = strcspn(key, ".");
    for (uint32_t i = 0; key[n] == '.' && i < conf->conf.entries.n; i++)
        if (strncmp(conf->conf.entries.p[i].key, key, n + 1) == 0)
            return conf->conf.entries.p[i].form;
    return MT_CONF_FORM_COUNT;
}

uint8_t mt_spell_form(const struct mt_advice_query *q, const struct mt_advice *a,
                      const struct mt_fix_line *l)
{
    struct mt_runconf_hit hit;
    uint8_t form = MT_CONF_FORM_COUNT;
    if (q->conf == NULL ||
        (l->syntax != MT_FIX_YAML && l->syntax != MT_FIX_FLAG && l->syntax != MT_FIX_HYDRA))
        return form;
    if (!l->as_set && mt_weigh_find_line(q, l, &hit) && hit.entry != NULL)
        form = hit.entry->form;
    else if (l->as_set || l->syntax == MT_FIX_YAML)
        form = a->card->current[0] != '\0' && mt_runconf_find(q->conf, a->card->current, &hit) &&
                       hit.entry != NULL
                   ? hit.entry->form
                   : form_of_place(q->conf, l->key);
    return is_file(form) ? form : MT_CONF_FORM_COUNT;
}

const char *mt_spell_like(const char *now, const char *value)
{
    static const char *const pairs[][2] = {{"False", "True"}, {"false", "true"}, {"FALSE", "TRUE"},
                                           {"no", "yes"},     {"No", "Yes"},     {"off", "on"},
                                           {"Off", "On"},     {"0", "1"}};
    for (size_t i = 0; mt_same_word(value, "true") && i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(now, pairs[i][0]) == 0)
            return pairs[i][1];
    return value;
}

static void add(struct mt_text *t, const char *s) { mt_text_add(t, s, strlen(s)); }

static bool is_switch(const char *value)
{
    return mt_same_word(value, "true") || mt_same_word(value, "false");
}

/* Numbers, lists, what stands for a number, and what is quoted already. */
static bool is_bare(const char *value)
{
    return strchr("[{\"<", value[0]) != NULL || value[strspn(value, "0123456789.eE+-")] == '\0';
}

static void add_value(struct mt_text *t, const char *value)
{
    const char *quote = is_bare(value) || is_switch(value) ? "" : "\"";
    add(t, quote);
    add(t, !is_switch(value) ? value : mt_same_word(value, "true") ? "true" : "false");
    add(t, quote);
}

/* "a": {"b": 3} of a.b. */
static void add_json(struct mt_text *t, const char *key, const char *value)
{
    size_t depth = 0;
    for (const char *p = key;; depth++) {
        size_t n = strcspn(p, ".");
        add(t, depth != 0 ? "{\"" : "\"");
        mt_text_add(t, p, n);
        add(t, "\": ");
        if (p[n] == '\0')
            break;
        p += n + 1;
    }
    add_value(t, value);
    while (depth-- > 0)
        add(t, "}");
}

static void add_text(struct mt_text *t, uint8_t form, const char *sep, const char *key,
                     const char *value)
{
    if (form == MT_CONF_JSON) {
        add_json(t, key, value);
        return;
    }
    add(t, key);
    add(t, form == MT_CONF_TOML ? " = " : value[0] != '\0' && key[0] != '\0' ? sep : "");
    if (form == MT_CONF_TOML)
        add_value(t, value);
    else
        add(t, value);
}

bool mt_spell_line(struct mt_typed *out, uint8_t form, const char *sep, const char *key,
                   const char *value)
{
    struct mt_text t = {.n = 0};
    size_t nk = strlen(key) + 1, nv = strlen(value) + 1;
    char *p;
    add_text(&t, form, sep, key, value);
    p = t.failed ? NULL : mt_malloc(nk + nv + t.n + 1);
    if (p != NULL) {
        out->key = memcpy(p, key, nk);
        out->value = memcpy(p + nk, value, nv);
        out->text = memcpy(p + nk + nv, t.p != NULL ? t.p : "", t.n + 1);
    }
    mt_text_done(&t);
    return p != NULL;
}

static bool is_made(const struct mt_advice *a, uint32_t i)
{
    for (uint32_t k = 0; k < a->n_typed; k++)
        if (a->typed[k].line == i)
            return true;
    return a->proposed != NULL && a->proposed_line == i;
}

bool mt_spell_lines(const struct mt_advice_query *q, struct mt_advice *a)
{
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        uint8_t form =
            (a->lines >> i & 1) != 0 && mt_fix_is_typed(l) && l->value[0] != '\0' && !is_made(a, i)
                ? mt_spell_form(q, a, l)
                : MT_CONF_FORM_COUNT;
        struct mt_typed *more;
        if (form == MT_CONF_FORM_COUNT)
            continue;
        more = mt_realloc(a->typed, (a->n_typed + 1) * sizeof *more);
        if (more == NULL)
            return false;
        a->typed = more;
        more[a->n_typed] = (struct mt_typed){.line = i};
        if (!mt_spell_line(&more[a->n_typed], form, "",
                           l->key + (strncmp(l->key, "--", 2) == 0 ? 2 : 0), l->value))
            return false;
        a->n_typed++;
    }
    return true;
}
