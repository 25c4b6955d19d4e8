#include "analysis/run/refuse.h"

#include "analysis/advice/advice.h"
#include "analysis/advice/lines.h"
#include "analysis/base/rule_read.h"

#include <stdio.h>
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
    if (!mt_fix_is_typed(l) || !is_known(value))
        return MT_OK;
    if (l->syntax == MT_FIX_ENV)
        return mt_conf_env(&t->env, key, value, "the advice", err);
    e = MT_VEC_PUSH(&t->entries);
    if (e == NULL || (value = bare(t, value)) == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    *e = (struct mt_conf_entry){.key = key, .value = value, .source = "the advice"};
    return MT_OK;
}

static enum mt_rc add_lines(struct typed *t, const struct mt_advice *a, uint64_t lines,
                            struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    for (uint32_t i = 0; i < a->card->n_set && rc == MT_OK; i++) {
        if ((lines >> i & 1) != 0)
            rc = add_line(t, &a->card->set[i], mt_advice_key(a, i), mt_advice_value(a, i), err);
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

struct asked {
    const struct mt_lint_in *in;
    const struct mt_lint *known;
    cJSON *rules;
    char says[512]; /* the first error that is new; "" = none */
};

/* Whether these lines of the card bring an error. */
static enum mt_rc ask(struct asked *q, const struct mt_advice *a, uint64_t lines,
                      struct mt_err *err)
{
    struct typed t = {.env = {.n_bytes = 0}};
    struct mt_runconf with = *q->in->conf;
    struct mt_lint_in in = *q->in;
    struct mt_lint *by = NULL;
    enum mt_rc rc = add_lines(&t, a, lines, err);
    q->says[0] = '\0';
    with.tried = t.entries.p;
    with.n_tried = t.entries.n;
    in.conf = &with;
    if (rc == MT_OK && with.n_tried != 0)
        rc = mt_lint_errors(&by, q->rules, &in, err);
    for (uint32_t i = 0; by != NULL && i < by->findings.n && q->says[0] == '\0'; i++)
        if (!has(q->known, by->findings.p[i].id))
            (void)snprintf(q->says, sizeof q->says, "%s", by->findings.p[i].sentence);
    mt_lint_free(by);
    typed_done(&t);
    return rc;
}

/* Lines that are a way each, with evidence of their own: nobody types them all. */
static uint64_t ways_of(const struct mt_advice *a)
{
    uint64_t ways = 0;
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        if ((a->lines >> i & 1) != 0 && !l->goes_with && (l->when.e != NULL || l->saving != NULL))
            ways |= 1ull << i;
    }
    return (ways & (ways - 1)) != 0 ? ways : 0;
}

/* Leaves the lines of the card that bring no error; q->says: what the others bring, "" where none
 * does. */
static enum mt_rc weed(struct asked *q, struct mt_advice *a, struct mt_err *err)
{
    uint64_t ways = ways_of(a), others = a->lines & ~ways;
    char says[sizeof q->says] = "";
    enum mt_rc rc = ask(q, a, a->lines, err);
    if (rc < 0 || q->says[0] == '\0')
        return rc;
    if (ways == 0) {
        a->lines = 0;
        return rc;
    }
    for (uint32_t i = 0; i <= a->card->n_set && rc >= 0; i++) {
        uint64_t some = i < a->card->n_set ? ways & 1ull << i : others;
        if (some == 0)
            continue;
        rc = ask(q, a, some, err);
        if (q->says[0] == '\0')
            continue;
        a->lines &= ~some;
        memcpy(says, q->says, sizeof says);
    }
    if (a->proposed != NULL && (a->lines >> a->proposed_line & 1) == 0)
        a->proposed = NULL; /* its memory is that of proposed_key */
    memcpy(q->says, says, sizeof says);
    return rc;
}

enum mt_rc mt_refuse_advice(struct mt_advice_list *list, const struct mt_lint_in *in,
                            const struct mt_lint *known, uint32_t *n, struct mt_err *err)
{
    struct asked q = {.in = in, .known = known};
    enum mt_rc rc = MT_OK;
    *n = 0;
    if (in->conf == NULL || list->n == 0)
        return MT_OK;
    rc = mt_rule_json("lint.json", &q.rules, err);
    for (uint32_t i = 0; rc >= 0 && i < list->n;) {
        struct mt_advice *a = &list->p[i];
        uint64_t before = a->lines;
        rc = weed(&q, a, err);
        if (rc < 0)
            break;
        if (before == 0 || a->lines != 0) {
            i++;
            continue;
        }
        (*n)++;
        if (!mt_advice_refuse(list, i, q.says))
            rc = mt_fail(err, MT_ENOMEM, "out of memory");
    }
    mt_free(q.rules);
    return rc < 0 ? rc : MT_OK;
}
