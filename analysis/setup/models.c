/* setup/models.c -- which model a path names: its name is cut into parts, and whole parts are
 * compared. */
#include "analysis/setup/models.h"

#include "analysis/base/glob.h"
#include "analysis/setup/framework.h"
#include "parser/base/text.h"

#include <string.h>

/* ---- the rows ---- */

struct loader {
    struct mt_models *m;
    bool (*is_key)(void *arg, const char *key);
    void *arg;
};

struct row {
    const char *id, *source;
    const char *const *also;
};

static MT_RULE_GET(get_config)
{
    const struct loader *l = r->of;
    const cJSON *c;
    (void)out;
    if (!cJSON_IsObject(v))
        return mt_rule_bad(r, f->name, "is not an object");
    cJSON_ArrayForEach(c, v)
    {
        struct mt_model_fact fact = {.key = NULL}, *slot;
        struct mt_rule_spec value = {.name = c->string};
        enum mt_rc rc;
        if (!l->is_key(l->arg, c->string))
            return mt_rule_bad(r, c->string,
                               "is no key of a config.json that a setting of settings.json has");
        rc = mt_get_text(r, &value, c, &fact.value);
        if (rc != MT_OK)
            return rc;
        fact.key = mt_rule_keep(r, c->string);
        slot = fact.key != NULL ? MT_VEC_PUSH(&l->m->facts) : NULL;
        if (slot == NULL)
            return mt_rule_nomem(r);
        *slot = fact;
    }
    return MT_OK;
}

static const char *const no_names[] = {NULL};
static const struct mt_rule_spec row_fields[] = {
    {"model", mt_get_text, offsetof(struct row, id), .is_needed = true},
    {"also", mt_get_texts, .at = offsetof(struct row, also)},
    {"config", get_config, 0, .is_needed = true},
    {"source", mt_get_any_text, offsetof(struct row, source), .is_needed = true},
    {.name = NULL}};

static enum mt_rc add_name(const struct mt_rule_reader *r, struct mt_models *m, const char *name,
                           uint32_t row)
{
    struct mt_model_name *slot;
    for (uint32_t i = 0; i < m->names.n; i++)
        if (mt_rule_same(m->names.p[i].name, name)) {
            if (!r->is_overlay)
                return mt_rule_bad(r, "also", "a name stands twice");
            m->names.p[i].row = row; /* the overlay's takes its place */
            return MT_OK;
        }
    slot = MT_VEC_PUSH(&m->names);
    if (slot == NULL)
        return mt_rule_nomem(r);
    *slot = (struct mt_model_name){name, row};
    return MT_OK;
}

/* Each name is compared with all others. */
#define MAX_MODELS 2048

static enum mt_rc read_row(struct mt_rule_reader *r, const cJSON *obj)
{
    struct mt_models *m = ((struct loader *)r->of)->m;
    struct row row = {.also = no_names};
    struct mt_model_row *slot;
    uint32_t first = m->facts.n;
    enum mt_rc rc = mt_rule_fields(r, obj, row_fields, &row);
    if (rc != MT_OK)
        return rc;
    if (m->names.n >= MAX_MODELS)
        return mt_rule_bad(
            r, NULL, "there are more than %d names of models, built-in ones included", MAX_MODELS);
    slot = MT_VEC_PUSH(&m->rows);
    if (slot == NULL)
        return mt_rule_nomem(r);
    *slot = (struct mt_model_row){row.id, row.source, first, m->facts.n - first};
    rc = add_name(r, m, row.id, m->rows.n - 1);
    for (; rc == MT_OK && *row.also != NULL; row.also++)
        rc = add_name(r, m, *row.also, m->rows.n - 1);
    return rc;
}

static const struct mt_rule_spec part_fields[] = {
    {"part", mt_get_text, 0, .is_needed = true}, {"note", NULL, .at = 0}, {.name = NULL}};

static enum mt_rc read_part(struct mt_rule_reader *r, const cJSON *obj)
{
    struct mt_models *m = ((struct loader *)r->of)->m;
    const char *part = NULL, **slot;
    enum mt_rc rc = mt_rule_fields(r, obj, part_fields, &part);
    if (rc != MT_OK)
        return rc;
    slot = MT_VEC_PUSH(&m->unlike);
    if (slot == NULL)
        return mt_rule_nomem(r);
    *slot = part;
    return MT_OK;
}

enum mt_rc mt_models_read(struct mt_models *m, struct mt_rule_reader *r,
                          bool (*is_key)(void *arg, const char *key), void *arg)
{
    static const struct mt_rule_list lists[] = {{"models", "model", "model", read_row},
                                                {"unlike_parts", "part", "part", read_part},
                                                {.name = NULL}};
    struct loader l = {m, is_key, arg};
    enum mt_rc rc;
    r->of = &l;
    rc = mt_rule_builtin(r, "models.json", lists);
    r->is_overlay = true;
    for (const struct mt_rule_list *of = lists; rc == MT_OK && of->name != NULL; of++) {
        const cJSON *list = mt_framework_overlay(r->fw, of->name, &r->file);
        if (list != NULL)
            rc = mt_rule_each(r, list, of);
    }
    r->of = NULL; /* it was of this call */
    return rc;
}

void mt_models_done(struct mt_models *m)
{
    MT_VEC_DONE(&m->rows);
    MT_VEC_DONE(&m->names);
    MT_VEC_DONE(&m->facts);
    MT_VEC_DONE(&m->unlike);
}

/* ---- names ---- */

#define MAX_PARTS 24

struct part {
    const char *p;
    size_t n;
};

static bool parts_at(char c) { return c == '-' || c == '_' || c == ':' || c == ' '; }

/* The parts between '-', '_', ':' and blanks of one component of a path. Returns how many; more
 * than MAX_PARTS are no name. */
static uint32_t cut(const char *s, size_t n, struct part out[MAX_PARTS])
{
    uint32_t parts = 0;
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && !parts_at(s[i]))
            i++;
        if (i > from && parts == MAX_PARTS)
            return 0;
        if (i > from)
            out[parts++] = (struct part){s + from, i - from};
        i++;
    }
    return parts;
}

static bool same(struct part a, struct part b) { return mt_same_text(a.p, a.n, b.p, b.n); }

/* "7b", "1.5b", "8x7b", "a3b", "360m": how many parameters. "1m" is a length. */
static bool is_size(struct part s)
{
    size_t i = s.n > 0 && (mt_lower(s.p[0]) == 'a' || mt_lower(s.p[0]) == 'e'), digits = 0;
    for (; i + 1 < s.n; i++) {
        if (s.p[i] >= '0' && s.p[i] <= '9')
            digits++;
        else if (digits == 0 || (s.p[i] != '.' && mt_lower(s.p[i]) != 'x'))
            return false;
    }
    return s.n > 0 && (mt_lower(s.p[s.n - 1]) == 'b' ? digits > 0
                                                     : mt_lower(s.p[s.n - 1]) == 'm' && digits > 2);
}

static bool is_unlike(const struct mt_models *m, struct part s)
{
    char low[64];
    if (s.n >= sizeof low)
        return false;
    for (size_t i = 0; i < s.n; i++)
        low[i] = mt_lower(s.p[i]);
    for (uint32_t i = 0; i < m->unlike.n; i++)
        if (mt_glob(m->unlike.p[i], low, s.n))
            return true;
    return false;
}

/* Where all parts of a name stand one after the other; UINT32_MAX = nowhere. */
static uint32_t stands(const struct part *in, uint32_t n_in, const struct part *name, uint32_t n)
{
    for (uint32_t at = 0; n > 0 && at + n <= n_in; at++) {
        uint32_t i = 0;
        while (i < n && same(in[at + i], name[i]))
            i++;
        if (i == n)
            return at;
    }
    return UINT32_MAX;
}

/* One component: a name, -1 = none, -2 = it is a model that is not known, or several. */
static int find_in(const struct mt_models *m, const char *s, size_t n)
{
    struct part in[MAX_PARTS], name[MAX_PARTS];
    uint32_t n_in = cut(s, n, in), most = 0, from = 0;
    bool begins[256] = {false};
    int best = -1;
    for (uint32_t i = 0; i < n_in; i++)
        begins[(unsigned char)mt_lower(in[i].p[0])] = true;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const struct mt_model_name *row = &m->names.p[i];
        if (!begins[(unsigned char)mt_lower(row->name[0])])
            continue;
        uint32_t k = cut(row->name, strlen(row->name), name), at = stands(in, n_in, name, k);
        if (at == UINT32_MAX || k < most)
            continue;
        /* the longest name holds; of two that are as long none does */
        best = k > most || (best >= 0 && m->names.p[best].row == row->row) ? (int)i : -2;
        most = k;
        from = at;
    }
    for (uint32_t i = 0; i < n_in; i++)
        if ((best < 0 || i < from || i >= from + most) && (is_size(in[i]) || is_unlike(m, in[i])))
            return -2;
    return best;
}

int mt_models_find(const struct mt_models *m, const char *path)
{
    size_t end = strlen(path);
    while (end > 0) {
        size_t from = end;
        int found;
        while (from > 0 && path[from - 1] != '/')
            from--;
        found = find_in(m, path + from, end - from);
        if (found != -1)
            return found < 0 ? -1 : found;
        end = from > 0 ? from - 1 : 0;
    }
    return -1;
}

const char *mt_models_fact(const struct mt_models *m, int name, const char *key)
{
    const struct mt_model_row *row = &m->rows.p[m->names.p[name].row];
    for (uint32_t i = row->first; i < row->first + row->n; i++)
        if (strcmp(m->facts.p[i].key, key) == 0)
            return m->facts.p[i].value;
    return NULL;
}
