#include "analysis/run/refuse.h"

#include "analysis/advice/advice.h"
#include "analysis/advice/lines.h"
#include "analysis/base/rule_read.h"

#include <string.h>

/* What a card types, as entries of a configuration. */
struct typed {
    struct mt_config env; /* what is split into several settings */
    MT_VEC(struct mt_conf_entry) entries;
    struct mt_arena arena;
};

static bool is_known(const char *value) { return strchr(value, '<') == NULL; }

/* Without the quotes that YAML wants. */
static const char *bare(struct typed *t, const char *value)
{
    size_t n = strlen(value);
    bool quoted = n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0];
    return quoted ? mt_arena_strndup(&t->arena, value + 1, n - 2) : value;
}

static enum mt_rc add_line(struct typed *t, const struct mt_fix_line *l, const char *key,
                           const char *value, struct mt_err *err)
{
    struct mt_conf_entry *e;
    if (l->syntax > MT_FIX_ENV || key[0] == '\0' || !is_known(value))
        return MT_OK;
    if (l->syntax == MT_FIX_ENV)
        return mt_conf_env(&t->env, key, value, "the advice", err);
    e = MT_VEC_PUSH(&t->entries);
    if (e == NULL || (value = bare(t, value)) == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    *e = (struct mt_conf_entry){.key = key, .value = value, .source = "the advice"};
    return MT_OK;
}

static enum mt_rc add_card(struct typed *t, const struct mt_advice *a, struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    for (uint32_t i = 0; i < a->card->n_set && rc == MT_OK; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        bool computed = a->proposed != NULL && a->proposed_line == i;
        if ((a->lines >> i & 1) != 0)
            rc = add_line(t, l, computed ? a->proposed_key : l->key,
                          computed ? a->proposed_value : l->value, err);
    }
    for (uint32_t i = 0; i < t->env.entries.n && rc == MT_OK; i++) {
        struct mt_conf_entry *e = MT_VEC_PUSH(&t->entries);
        if (e == NULL)
            return mt_fail(err, MT_ENOMEM, "out of memory");
        *e = t->env.entries.p[i];
    }
    return rc;
}

static void typed_done(struct typed *t)
{
    mt_conf_done(&t->env);
    MT_VEC_DONE(&t->entries);
    mt_arena_done(&t->arena);
}

static bool has(const struct mt_lint *l, const char *id)
{
    for (uint32_t i = 0; i < l->findings.n; i++)
        if (l->findings.p[i].level == MT_LINT_ERROR && strcmp(l->findings.p[i].id, id) == 0)
            return true;
    return false;
}

/* The first error that the card brings. */
static enum mt_rc refused(const struct mt_advice *a, const struct mt_lint_in *in,
                          const cJSON *rules, const struct mt_lint *known, struct mt_lint **by,
                          const char **says, struct mt_err *err)
{
    struct typed t = {.env = {.n_bytes = 0}};
    struct mt_runconf with = *in->conf;
    struct mt_lint_in asked = *in;
    enum mt_rc rc = add_card(&t, a, err);
    *says = NULL;
    with.tried = t.entries.p;
    with.n_tried = t.entries.n;
    asked.conf = &with;
    if (rc == MT_OK && with.n_tried != 0)
        rc = mt_lint_errors(by, rules, &asked, err);
    for (uint32_t i = 0; *by != NULL && i < (*by)->findings.n && *says == NULL; i++)
        if (!has(known, (*by)->findings.p[i].id))
            *says = (*by)->findings.p[i].sentence;
    typed_done(&t);
    return rc;
}

enum mt_rc mt_refuse_advice(struct mt_advice_list *list, const struct mt_lint_in *in,
                            const struct mt_lint *known, uint32_t *n, struct mt_err *err)
{
    cJSON *rules = NULL;
    enum mt_rc rc = MT_OK;
    *n = 0;
    if (in->conf == NULL || list->n == 0)
        return MT_OK;
    rc = mt_rule_json("lint.json", &rules, err);
    for (uint32_t i = 0; rc >= 0 && i < list->n;) {
        struct mt_lint *by = NULL;
        const char *says;
        rc = refused(&list->p[i], in, rules, known, &by, &says, err);
        if (rc >= 0 && says != NULL) {
            (*n)++;
            if (!mt_advice_refuse(list, i, says))
                rc = mt_fail(err, MT_ENOMEM, "out of memory");
        } else {
            i++;
        }
        mt_lint_free(by);
    }
    mt_free(rules);
    return rc < 0 ? rc : MT_OK;
}
