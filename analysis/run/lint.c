/* lint.c -- the rules of lint.json, and the keys that fix rules know to be wrong, against what is
 * known of the run. */
#include "analysis/run/lint_impl.h"
#include "analysis/base/rule_read.h"
#include "analysis/advice/rules.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_HITS = 8, MAX_DEPTH = 4 };

/* What the conditions of one rule found. */
struct match {
    const struct mt_lint_in *in;
    struct mt_runconf_hit hit[MAX_HITS];
    unsigned n;
    struct mt_lint_fact fact;
    bool has_fact;
};

static bool holds(struct match *m, const cJSON *cond, unsigned depth);

static bool is_value(const char *value, const char *want)
{
    if (value == NULL)
        return false;
    if (strcmp(want, "true") == 0)
        return mt_runconf_is_true(value);
    if (strcmp(want, "false") == 0)
        return mt_runconf_is_false(value);
    return mt_same_word(value, want);
}

/* A decimal number like "0.85" in millionths; false for anything else. */
static bool decimal(const char *s, double *out)
{
    double whole = 0, scale = 1;
    bool any = false;
    if (s == NULL)
        return false;
    for (; *s >= '0' && *s <= '9'; s++, any = true)
        whole = whole * 10 + (*s - '0');
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++, any = true)
            whole += (*s - '0') * (scale /= 10);
    *out = whole;
    return any && *s == '\0';
}

static void found(struct match *m, const struct mt_runconf_hit *hit)
{
    if (m->n < MAX_HITS)
        m->hit[m->n++] = *hit;
}

static bool key_holds(struct match *m, const cJSON *cond, const char *key)
{
    const cJSON *set = mt_rule_field(cond, "set"), *min = mt_rule_field(cond, "min"),
                *max = mt_rule_field(cond, "max");
    const char *is = mt_rule_text_of(cond, "is"), *not = mt_rule_text_of(cond, "not"),
               *contains = mt_rule_text_of(cond, "contains");
    struct mt_runconf_hit hit;
    bool is_set = mt_runconf_find(m->in->conf, key, &hit), ok = true;
    double v = 0;
    if (is_set && hit.is_default && !cJSON_IsTrue(mt_rule_field(cond, "defaults")))
        is_set = false;
    if (set != NULL) {
        ok = is_set == (cJSON_IsTrue(set) != 0) && !(is_set && is_value(hit.value, "null"));
    } else if (not != NULL) {
        ok = !is_set || (hit.value != NULL && !is_value(hit.value, not ));
    } else {
        ok = is_set && hit.value != NULL;
        ok = ok && (is == NULL || is_value(hit.value, is));
        ok = ok && (contains == NULL || strstr(hit.value, contains) != NULL);
        if (ok && (min != NULL || max != NULL))
            ok = decimal(hit.value, &v) && (min == NULL || v >= min->valuedouble) &&
                 (max == NULL || v <= max->valuedouble);
    }
    if (ok && is_set)
        found(m, &hit);
    return ok;
}

static bool number_of(struct match *m, const char *key, uint64_t *v)
{
    struct mt_runconf_hit hit;
    if (key == NULL || !mt_runconf_find(m->in->conf, key, &hit) || !mt_runconf_number(hit.value, v))
        return false;
    if (!hit.is_default)
        found(m, &hit);
    return true;
}

/* All of "of" together are more than "limit" (times "times", where that is set). One of them has to
 * be set: defaults alone are no evidence. */
static bool sum_above(struct match *m, const cJSON *cond)
{
    const cJSON *o;
    uint64_t sum = 0, v, limit, times = 1;
    if (!number_of(m, mt_rule_text_of(cond, "limit"), &limit))
        return false;
    cJSON_ArrayForEach(o, mt_rule_field(cond, "of"))
    {
        if (!number_of(m, cJSON_GetStringValue(o), &v) || sum > UINT64_MAX - v)
            return false;
        sum += v;
    }
    if (mt_rule_text_of(cond, "times") != NULL &&
        (!number_of(m, mt_rule_text_of(cond, "times"), &times) || times == 0))
        times = 1;
    return m->n != 0 && limit <= UINT64_MAX / times && sum > limit * times;
}

/* The product of the keys, of which one that is not set counts as 1; 0 = the first is not known, or
 * one hangs on a variable, or it may be set where nobody looked. */
static uint64_t product(struct match *m, const cJSON *keys, bool all_set)
{
    const cJSON *o;
    uint64_t all = 0, v;
    cJSON_ArrayForEach(o, keys)
    {
        struct mt_runconf_hit hit;
        const char *key = cJSON_GetStringValue(o);
        if (number_of(m, key, &v) && v != 0)
            all = o == keys->child ? v : all <= UINT64_MAX / v ? all * v : 0;
        else if (o == keys->child || all_set || mt_runconf_find(m->in->conf, key, &hit))
            return 0;
    }
    return all;
}

/* What is multiplied of "of" is less than what is of "limit". */
static bool product_below(struct match *m, const cJSON *cond)
{
    bool partial = m->in->conf == NULL || m->in->conf->is_partial;
    uint64_t of = product(m, mt_rule_field(cond, "of"), partial);
    return of != 0 && m->n != 0 && of < product(m, mt_rule_field(cond, "limit"), false);
}

static bool not_divides(struct match *m, const cJSON *cond)
{
    uint64_t a, b;
    return number_of(m, cJSON_GetStringValue(cJSON_GetArrayItem(cond, 0)), &a) &&
           number_of(m, cJSON_GetStringValue(cJSON_GetArrayItem(cond, 1)), &b) && a > 1 && b != 0 &&
           b % a != 0;
}

static bool env_lacks(struct match *m, const char *name, const char *part)
{
    struct mt_runconf_hit hit;
    if (name == NULL)
        return false;
    if (!mt_runconf_find(m->in->conf, name, &hit))
        return part == NULL && m->in->conf != NULL && m->in->conf->env_known;
    return part != NULL && hit.value != NULL && strstr(hit.value, part) == NULL;
}

static bool runs_engine(const struct match *m, const char *id)
{
    const struct mt_runconf *conf = m->in->conf;
    const struct mt_framework_rules *rules = conf != NULL             ? conf->rules
                                             : m->in->n_analyses != 0 ? m->in->analyses[0]->fw.rules
                                                                      : NULL;
    int want = mt_framework_find(rules, id);
    const char *set = mt_runconf_get(conf, "engine");
    if (set != NULL)
        return mt_same_word(set, id);
    for (uint32_t i = 0; i < m->in->n_analyses; i++)
        if (m->in->analyses[i]->fw.engine == want)
            return true;
    for (uint32_t i = 0; m->in->logs != NULL && i < m->in->logs->files.n; i++) {
        const struct mt_log *log = &m->in->logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++)
            if (want > MT_FW_NONE &&
                mt_framework_of_log_line(rules, mt_log_kind_name(log->facts.p[k].kind)) == want)
                return true;
    }
    /* It has no other one; a job whose keys are the engine's own is the engine. */
    return conf != NULL && want > MT_FW_NONE &&
           (conf->framework == want || mt_framework_at(rules, conf->framework)->engine == want);
}

static bool runs_framework(const struct match *m, const char *id)
{
    return m->in->conf != NULL && m->in->conf->framework >= 0 &&
           mt_framework_find(m->in->conf->rules, id) == m->in->conf->framework;
}

static bool fact_holds(struct match *m, const char *name)
{
    struct mt_lint_fact f;
    bool known;
    if (!mt_lint_fact(m->in, name, &f, &known))
        return false;
    if (!m->has_fact || f.text[0] != '\0')
        m->fact = f;
    m->has_fact = true;
    return true;
}

/* A log says that a program of these versions runs: from "from" on, below "below". */
static bool version_holds(struct match *m, const cJSON *cond, const char *program)
{
    uint64_t from = 0, below = UINT64_MAX;
    const char *s;
    if (((s = mt_rule_text_of(cond, "from")) != NULL && !mt_log_version_number(s, &from)) ||
        ((s = mt_rule_text_of(cond, "below")) != NULL && !mt_log_version_number(s, &below)))
        return false;
    for (uint32_t i = 0; m->in->logs != NULL && i < m->in->logs->files.n; i++) {
        const struct mt_log_file *file = &m->in->logs->files.p[i];
        for (uint32_t k = 0; k < file->log.versions.n; k++) {
            const struct mt_log_version *v = &file->log.versions.p[k];
            if (strcmp(v->program, program) != 0 || v->number < from || v->number >= below)
                continue;
            (void)snprintf(m->fact.text, sizeof m->fact.text, "%u.%u.%u",
                           (unsigned)(v->number >> 40), (unsigned)(v->number >> 20 & 0xfffff),
                           (unsigned)(v->number & 0xfffff));
            (void)snprintf(m->fact.where, sizeof m->fact.where, "%.160s:%llu", file->name,
                           (unsigned long long)v->line);
            m->has_fact = true;
            return true;
        }
    }
    return false;
}

static bool failed_in(struct match *m, const char *file, const char *function)
{
    struct mt_lint_fact f;
    if (function == NULL || !mt_lint_failed_in(m->in, file, function, &f))
        return false;
    if (!m->has_fact)
        m->fact = f;
    m->has_fact = true;
    return true;
}

static bool unexported(struct match *m, const cJSON *names)
{
    const cJSON *o;
    cJSON_ArrayForEach(o, names)
    {
        struct mt_lint_fact f;
        if (!mt_lint_unexported(m->in, cJSON_GetStringValue(o), &f))
            continue;
        m->fact = f;
        return m->has_fact = true;
    }
    return false;
}

static bool any_holds(struct match *m, const cJSON *list, unsigned depth)
{
    const cJSON *o;
    bool any = false;
    cJSON_ArrayForEach(o, list) { any = any || holds(m, o, depth); }
    return any;
}

static bool holds(struct match *m, const cJSON *cond, unsigned depth)
{
    const cJSON *o;
    const char *s;
    bool known;
    if (depth > MAX_DEPTH)
        return false;
    if ((s = mt_rule_text_of(cond, "key")) != NULL)
        return key_holds(m, cond, s);
    if ((s = mt_rule_text_of(cond, "fact")) != NULL)
        return fact_holds(m, s);
    if ((s = mt_rule_text_of(cond, "not_fact")) != NULL) {
        struct mt_lint_fact f;
        return !mt_lint_fact(m->in, s, &f, &known) && known;
    }
    if ((s = mt_rule_text_of(cond, "version")) != NULL)
        return version_holds(m, cond, s);
    if ((s = mt_rule_text_of(cond, "failed_in")) != NULL)
        return failed_in(m, s, mt_rule_text_of(cond, "function"));
    if ((s = mt_rule_text_of(cond, "engine")) != NULL)
        return runs_engine(m, s);
    if ((s = mt_rule_text_of(cond, "framework")) != NULL)
        return runs_framework(m, s);
    if ((s = mt_rule_text_of(cond, "env_unset")) != NULL)
        return env_lacks(m, s, NULL);
    if ((o = mt_rule_field(cond, "env_not_contains")) != NULL)
        return env_lacks(m, cJSON_GetStringValue(cJSON_GetArrayItem(o, 0)),
                         cJSON_GetStringValue(cJSON_GetArrayItem(o, 1)));
    if ((o = mt_rule_field(cond, "any")) != NULL)
        return any_holds(m, o, depth + 1);
    if ((o = mt_rule_field(cond, "none")) != NULL) {
        struct match other = {.in = m->in};
        return !any_holds(&other, o, depth + 1);
    }
    if ((o = mt_rule_field(cond, "sum_above")) != NULL)
        return sum_above(m, o);
    if ((o = mt_rule_field(cond, "not_divides")) != NULL)
        return not_divides(m, o);
    if ((o = mt_rule_field(cond, "product_below")) != NULL)
        return product_below(m, o);
    if ((o = mt_rule_field(cond, "unexported")) != NULL)
        return unexported(m, o);
    return false;
}

/* ---- findings ---- */

/* %1 to %8: value of the n-th setting that was found; %f: numbers of the fact. */
static const char *fill_in(struct mt_lint *l, const struct match *m, const char *pattern)
{
    char buf[1024];
    size_t n = 0;
    for (const char *p = pattern; *p != '\0' && n + 1 < sizeof buf; p++) {
        const char *s = NULL;
        if (p[0] == '%' && p[1] >= '1' && p[1] <= '8' && (unsigned)(p[1] - '1') < m->n)
            s = m->hit[p[1] - '1'].value;
        else if (p[0] == '%' && p[1] == 'f')
            s = m->fact.text;
        if (s == NULL) {
            buf[n++] = *p;
            continue;
        }
        for (size_t i = 0, most = s == m->fact.text ? sizeof m->fact.text : 200;
             i < most && s[i] != '\0' && n + 1 < sizeof buf; i++)
            buf[n++] = s[i];
        p++;
    }
    return mt_arena_strndup(&l->arena, buf, n);
}

static const char *where_of(struct mt_lint *l, const struct match *m)
{
    char buf[640], one[200];
    size_t n = 0;
    buf[0] = '\0';
    for (unsigned i = 0; i <= m->n && n < sizeof buf; i++) {
        const char *s = one;
        if (i == m->n)
            s = m->has_fact ? m->fact.where : "";
        else if (m->hit[i].entry != NULL)
            mt_runconf_where(one, sizeof one, m->hit[i].entry);
        else
            continue;
        if (s[0] != '\0' && strstr(buf, s) == NULL)
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%s", n != 0 ? ", " : "", s);
    }
    return mt_arena_strndup(&l->arena, buf, strlen(buf));
}

static const char *copy(struct mt_lint *l, const char *s)
{
    return mt_arena_strndup(&l->arena, s != NULL ? s : "", strlen(s != NULL ? s : ""));
}

static bool add(struct mt_lint *l, const struct match *m, enum mt_lint_level level,
                const char *const text[5])
{
    struct mt_lint_finding *f = MT_VEC_PUSH(&l->findings);
    if (f == NULL)
        return false;
    f->level = level;
    f->id = copy(l, text[0]);
    f->sentence = fill_in(l, m, text[1]);
    f->where = where_of(l, m);
    f->why = fill_in(l, m, text[2]);
    f->remedy = copy(l, text[3]);
    f->source = copy(l, text[4]);
    return f->id != NULL && f->sentence != NULL && f->where != NULL && f->why != NULL &&
           f->remedy != NULL && f->source != NULL;
}

static enum mt_lint_level level_of(const char *s)
{
    return s != NULL && strcmp(s, "error") == 0  ? MT_LINT_ERROR
           : s != NULL && strcmp(s, "note") == 0 ? MT_LINT_NOTE
                                                 : MT_LINT_WARNING;
}

static bool run_rule(struct mt_lint *l, const struct mt_lint_in *in, const cJSON *rule)
{
    struct match m = {.in = in};
    const char *text[5] = {mt_rule_text_of(rule, "id"), mt_rule_text_of(rule, "sentence"),
                           mt_rule_text_of(rule, "why"), mt_rule_text_of(rule, "remedy"),
                           mt_rule_text_of(rule, "source")};
    const cJSON *cond;
    unsigned n = 0;
    cJSON_ArrayForEach(cond, mt_rule_field(rule, "when"))
    {
        n++;
        if (!holds(&m, cond, 0))
            return true;
    }
    for (int i = 0; i < 5; i++)
        if (text[i] == NULL)
            return true;
    return n == 0 || add(l, &m, level_of(mt_rule_text_of(rule, "level")), text);
}

static bool is_listed(const cJSON *list, const char *key)
{
    const cJSON *o;
    cJSON_ArrayForEach(o, list)
    {
        const char *s = cJSON_GetStringValue(o);
        if (s != NULL && strcmp(s, key) == 0)
            return true;
    }
    return false;
}

static bool may_be_of(const struct mt_lint_in *in, const struct mt_fix_rule *r)
{
    int fw = in->conf->framework;
    return fw < 0 || (r->frameworks >> fw & 1) != 0;
}

/* One line of a rule that is wrong or without effect: is its key set? */
static bool wrong_key(struct mt_lint *l, const struct mt_lint_in *in, const struct mt_fix_rule *r,
                      const struct mt_fix_line *line)
{
    struct match m = {.in = in};
    struct mt_runconf_hit hit;
    char sentence[400];
    const char *says = r->status == MT_FIX_WRONG  ? "does not exist"
                       : r->status == MT_FIX_NOOP ? "has no effect"
                                                  : "is a key of older versions";
    const char *text[5] = {r->id, sentence, r->not_offered, r->instead, r->source};
    if (!mt_runconf_find(in->conf, line->key, &hit) || hit.is_default ||
        mt_runconf_is_false(hit.value))
        return true;
    found(&m, &hit);
    (void)snprintf(sentence, sizeof sentence, "%.300s %s.", line->key, says);
    return add(l, &m, r->status == MT_FIX_WRONG ? MT_LINT_ERROR : MT_LINT_WARNING, text);
}

static bool run_fixes(struct mt_lint *l, const struct mt_lint_in *in, const cJSON *existing,
                      bool errors_only)
{
    bool ok = true;
    for (uint32_t i = 0;
         in->conf != NULL && in->fixes != NULL && i < mt_fix_rules_count(in->fixes) && ok; i++) {
        const struct mt_fix_rule *r = mt_fix_rule_at(in->fixes, i);
        if (r->offered || !may_be_of(in, r) ||
            (r->status != MT_FIX_WRONG && r->status != MT_FIX_NOOP && r->status != MT_FIX_MOVED) ||
            (errors_only && r->status != MT_FIX_WRONG))
            continue;
        for (uint32_t k = 0; k < r->card.n_set && ok; k++)
            if (mt_fix_is_typed(&r->card.set[k]) && r->card.set[k].syntax != MT_FIX_ENV &&
                !is_listed(existing, r->card.set[k].key))
                ok = wrong_key(l, in, r, &r->card.set[k]);
    }
    return ok;
}

/* Errors first; stable. */
static void sort(struct mt_lint *l)
{
    for (uint32_t i = 1; i < l->findings.n; i++) {
        struct mt_lint_finding f = l->findings.p[i];
        uint32_t k = i;
        for (; k > 0 && l->findings.p[k - 1].level > f.level; k--)
            l->findings.p[k] = l->findings.p[k - 1];
        l->findings.p[k] = f;
    }
}

static enum mt_rc run(struct mt_lint **out, const cJSON *rules, const struct mt_lint_in *in,
                      bool errors_only, struct mt_err *err)
{
    struct mt_lint *l = mt_calloc(1, sizeof *l);
    const cJSON *rule;
    bool ok = l != NULL;
    cJSON_ArrayForEach(rule, mt_rule_field(rules, "lint"))
    {
        if (errors_only && level_of(mt_rule_text_of(rule, "level")) != MT_LINT_ERROR)
            continue;
        ok = ok && run_rule(l, in, rule);
    }
    ok = ok && run_fixes(l, in, mt_rule_field(rules, "existing"), errors_only);
    *out = l;
    if (!ok) {
        mt_lint_free(l);
        *out = NULL;
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    sort(l);
    return MT_OK;
}

enum mt_rc mt_lint_errors(struct mt_lint **out, const cJSON *rules, const struct mt_lint_in *in,
                          struct mt_err *err)
{
    return run(out, rules, in, true, err);
}

enum mt_rc mt_lint_make(struct mt_lint **out, const struct mt_lint_in *in, struct mt_err *err)
{
    cJSON *rules;
    enum mt_rc rc = mt_rule_json("lint.json", &rules, err);
    *out = NULL;
    if (rc >= 0)
        rc = run(out, rules, in, false, err);
    mt_free(rules);
    return rc;
}

void mt_lint_free(struct mt_lint *l)
{
    if (l == NULL)
        return;
    mt_arena_done(&l->arena);
    MT_VEC_DONE(&l->findings);
    mt_free(l);
}

const char *mt_lint_level_name(enum mt_lint_level l)
{
    switch (l) {
    case MT_LINT_ERROR: return "error";
    case MT_LINT_WARNING: return "warning";
    case MT_LINT_NOTE: return "note";
    }
    return "note";
}
