/* advice/rules.c -- the table of fix rules: built-in files, overlay, order to try. */
#include "analysis/advice/rules.h"

#include "analysis/advice/rule_parse.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/framework.h"
#include "analysis/setup/settings.h"

#include <stdio.h>
#include <string.h>

#define TORCH_FILE "torch.json"
#define ORDER_FILE "fixes/order.json"
#define LEVERS_FILE "programs/levers.json"
#define PROGRAMS_FILE "programs/programs.json"

struct order_cell {
    const struct mt_fix_step *step;
    uint32_t n;
};

struct mt_fix_rules {
    struct mt_arena arena;
    struct mt_expr_list exprs;
    struct mt_runconf *settings; /* for the names of settings in expressions */
    struct mt_metric_rules *metrics;
    struct mt_metric_names names; /* the two above */
    MT_VEC(struct mt_fix_rule) rule;
    const char *overlay; /* its name; NULL = none */
    const struct mt_framework_rules *fw;
    /* by framework; MT_FW_NONE is "generic" */
    struct order_cell order[MT_FIX_CLASS_COUNT][MT_FW_MAX];
    uint64_t columns; /* that have a cell */
};

const struct mt_metric_rules *mt_fix_rules_metrics(const struct mt_fix_rules *r)
{
    return r->metrics;
}

uint32_t mt_fix_rules_count(const struct mt_fix_rules *r) { return r->rule.n; }

const struct mt_fix_rule *mt_fix_rule_at(const struct mt_fix_rules *r, uint32_t i)
{
    return i < r->rule.n ? &r->rule.p[i] : NULL;
}

static uint32_t find(const struct mt_fix_rules *r, const char *id)
{
    uint32_t i = 0;
    while (i < r->rule.n && !mt_rule_same(r->rule.p[i].id, id))
        i++;
    return i;
}

const struct mt_fix_rule *mt_fix_rule_find(const struct mt_fix_rules *r, const char *id)
{
    return mt_fix_rule_at(r, find(r, id));
}

const struct mt_fix_step *mt_fix_order(const struct mt_fix_rules *r, enum mt_fix_class c,
                                       mt_fw column, uint32_t *n)
{
    *n = 0;
    if (c >= MT_FIX_CLASS_COUNT || column >= MT_FW_MAX)
        return NULL;
    *n = r->order[c][column].n;
    return r->order[c][column].step;
}

mt_fw mt_fix_column(const struct mt_fix_rules *r, mt_fw main)
{
    const struct mt_framework *row = mt_framework_at(r->fw, main);
    mt_fw column = row->order_as != MT_FW_NONE ? row->order_as : main;
    bool own = main != MT_FW_NONE && row->kind != MT_FWK_ENGINE && (r->columns >> column & 1) != 0;
    return own ? column : mt_framework_plain(r->fw);
}

const struct mt_framework_rules *mt_fix_rules_frameworks(const struct mt_fix_rules *r)
{
    return r->fw;
}

/* Built-in rules must be new; an overlay's rule takes the place of the built-in one. */
static enum mt_rc add_rule(struct mt_rule_reader *rd, const struct mt_fix_rule *rule)
{
    struct mt_fix_rules *r = ((struct mt_fix_parse *)rd->of)->rules;
    struct mt_fix_rule *slot;
    uint32_t at = find(r, rule->id);
    if (at < r->rule.n && (!rd->is_overlay || r->rule.p[at].file == rd->file))
        return mt_rule_bad(rd, "id", "stands twice; every rule has an id of its own");
    slot = at < r->rule.n ? &r->rule.p[at] : MT_VEC_PUSH(&r->rule);
    if (slot == NULL)
        return mt_rule_nomem(rd);
    *slot = *rule;
    return MT_OK;
}
static enum mt_rc add_one(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct mt_fix_rule rule;
    enum mt_rc rc = mt_fix_parse_rule(rd, obj, &rule);
    return rc == MT_OK ? add_rule(rd, &rule) : rc;
}

static enum mt_rc add_program(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct mt_fix_rule rule;
    enum mt_rc rc = mt_fix_parse_program(rd, obj, &rule);
    return rc == MT_OK ? add_rule(rd, &rule) : rc;
}
static const struct mt_rule_list fixes[] = {{"fixes", "rule", "id", add_one}, {.name = NULL}};
static const struct mt_rule_list came[] = {{"came", "name of PyTorch", "name", mt_fix_add_came},
                                           {.name = NULL}};
static const struct mt_rule_list levers[] = {{"levers", "lever", "lever", mt_fix_add_lever},
                                             {.name = NULL}};
static const struct mt_rule_list programs[] = {{"programs", "program", "id", add_program},
                                               {.name = NULL}};

/* "V01" or "V01/up". A rule that an overlay replaced may have lost the variant or the phase: then
 * its own card serves, or it is left out. *rule == UINT32_MAX: left out. */
static enum mt_rc parse_step(const struct mt_fix_rules *r, const struct mt_rule_reader *p,
                             const cJSON *v, uint32_t class, struct mt_fix_step *out)
{
    const struct mt_fix_rule *rule;
    const char *slash;
    char id[48];
    size_t n;
    bool builtin;

    if (!cJSON_IsString(v))
        return mt_rule_bad(p, NULL, "a list of rule ids is expected");
    slash = strchr(v->valuestring, '/');
    n = slash != NULL ? (size_t)(slash - v->valuestring) : strlen(v->valuestring);
    if (n >= sizeof id)
        n = sizeof id - 1;
    memcpy(id, v->valuestring, n);
    id[n] = 0;
    out->rule = find(r, id);
    rule = mt_fix_rule_at(r, out->rule);
    if (rule == NULL)
        return mt_rule_bad(p, NULL, "there is no rule %s", id);
    builtin = rule->file != r->overlay;
    /* where nothing says what ran, what helps the usual passes is tried */
    if ((rule->phases >> class & 1) == 0 && class != MT_FIX_UNKNOWN) {
        out->rule = UINT32_MAX;
        return builtin ? mt_rule_bad(p, NULL, "rule %s does not name the phase class %s", id,
                                     mt_fix_class_id((enum mt_fix_class) class))
                       : MT_OK;
    }
    out->card = &rule->card;
    if (slash == NULL)
        return MT_OK;
    for (uint32_t i = 0; i < rule->n_variants; i++) {
        if (strcmp(rule->variants[i].name, slash + 1) == 0) {
            out->card = &rule->variants[i];
            return MT_OK;
        }
    }
    return builtin ? mt_rule_bad(p, NULL, "rule %s has no variant \"%s\"", id, slash + 1) : MT_OK;
}

static enum mt_rc parse_cell(struct mt_fix_rules *r, const struct mt_rule_reader *p,
                             const cJSON *list, uint32_t class, struct order_cell *cell)
{
    struct mt_fix_step *step;
    const cJSON *c;
    size_t n = 0;

    if (!cJSON_IsArray(list))
        return mt_rule_bad(p, NULL, "a list of rule ids is expected");
    cJSON_ArrayForEach(c, list) n++;
    step = mt_arena_alloc(&r->arena, (n > 0 ? n : 1) * sizeof *step, _Alignof(struct mt_fix_step));
    if (step == NULL)
        return mt_rule_nomem(p);
    cell->step = step;
    cell->n = 0;
    cJSON_ArrayForEach(c, list)
    {
        enum mt_rc rc = parse_step(r, p, c, class, &step[cell->n]);
        if (rc != MT_OK)
            return rc;
        if (step[cell->n].rule != UINT32_MAX)
            cell->n++;
    }
    return MT_OK;
}

static enum mt_rc parse_row(struct mt_rule_reader *p, const cJSON *row)
{
    struct mt_fix_parse *parse = p->of;
    struct mt_fix_rules *r = parse->rules;
    int class = p->id != NULL ? mt_fix_class_find(p->id) : -1;
    const cJSON *c;
    if (class < 0)
        return mt_rule_bad(p, "class", "is missing or no phase class");
    cJSON_ArrayForEach(c, row)
    {
        mt_fw column = MT_FW_NONE;
        enum mt_rc rc = MT_OK;
        if (strcmp(c->string, "class") == 0)
            continue;
        if (strcmp(c->string, "generic") != 0)
            rc = mt_rule_framework(p, c->string, c->string, &column);
        if (rc == MT_OK && (parse->in_file[class] & MT_FW_BIT(column)) != 0)
            rc = mt_rule_bad(p, c->string, "is there twice");
        if (rc == MT_OK)
            parse->in_file[class] |= MT_FW_BIT(column);
        if (rc == MT_OK)
            rc = parse_cell(r, p, c, (uint32_t) class, &r->order[class][column]);
        if (rc != MT_OK) {
            mt_err_context(p->err, "while reading column %s", c->string);
            return rc;
        }
        r->columns |= MT_FW_BIT(column);
    }
    return MT_OK;
}
static const struct mt_rule_list order[] = {{"order", "order of", "class", parse_row},
                                            {.name = NULL}};

/* Rules name each other; an overlay may not leave such a name without an owner. */
static enum mt_rc check_references(const struct mt_fix_rules *r, struct mt_err *err)
{
    for (uint32_t i = 0; i < r->rule.n; i++) {
        const struct mt_fix_rule *rule = &r->rule.p[i];
        for (uint32_t k = 0; k < rule->n_replaced_by + rule->n_instead_of; k++) {
            bool first = k < rule->n_replaced_by;
            const char *id =
                first ? rule->replaced_by[k] : rule->instead_of[k - rule->n_replaced_by];
            if (find(r, id) == r->rule.n)
                return mt_fail(err, MT_EINPUT, "%s: rule %s: field \"%s\": there is no rule %s",
                               rule->file, rule->id, first ? "replaced_by" : "instead_of", id);
        }
    }
    return MT_OK;
}

enum mt_rc mt_fix_rules_load(struct mt_fix_rules **out, const struct mt_framework_rules *fw,
                             const char *overlay, size_t overlay_len, const char *overlay_name,
                             struct mt_err *err)
{
    struct mt_fix_rules *r = mt_calloc(1, sizeof *r);
    struct mt_fix_parse parse = {.rules = r};
    struct mt_rule_reader rd = {.err = err, .fw = fw, .of = &parse};
    cJSON *dom = NULL;
    enum mt_rc rc = MT_OK;

    *out = NULL;
    overlay_name = overlay_name != NULL ? overlay_name : "the rule file";
    rc = mt_rule_size(overlay != NULL ? overlay_len : 0, overlay_name, err);
    if (rc == MT_OK && r == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory while loading the fix rules");
    if (rc != MT_OK) {
        mt_free(r);
        return rc;
    }
    r->fw = fw;
    parse.names = &r->names;
    parse.exprs = &r->exprs;
    rd.arena = &r->arena;
    rc = mt_runconf_new(&r->settings, fw, err);
    if (rc == MT_OK)
        rc =
            mt_metric_rules_load(&r->metrics, r->settings, overlay, overlay_len, overlay_name, err);
    if (rc != MT_OK)
        goto out;
    r->names = (struct mt_metric_names){r->settings, r->metrics};
    rc = mt_rule_builtin(&rd, TORCH_FILE, came);
    if (rc != MT_OK)
        goto out;
    for (const struct mt_rule_file *f = mt_rule_files; f->name != NULL; f++) {
        if (strncmp(f->name, "fixes/", 6) == 0 && strcmp(f->name, ORDER_FILE) != 0)
            rc = mt_rule_builtin(&rd, f->name, fixes);
        if (rc != MT_OK)
            goto out;
    }
    rc = mt_rule_builtin(&rd, LEVERS_FILE, levers);
    if (rc == MT_OK)
        rc = mt_rule_builtin(&rd, PROGRAMS_FILE, programs);
    if (rc != MT_OK)
        goto out;
    if (r->rule.n == 0) {
        rc = mt_fail(err, MT_EINTERN, "the fix rules are missing from this build of memtrace");
        goto out;
    }
    if (overlay != NULL) {
        rd.is_overlay = true;
        rd.file = r->overlay = mt_arena_strndup(&r->arena, overlay_name, strlen(overlay_name));
        rc = r->overlay != NULL ? mt_json_text(&dom, overlay, overlay_len, overlay_name, err)
                                : mt_fail(err, MT_ENOMEM, "%s: out of memory", overlay_name);
        if (rc == MT_OK)
            rc = mt_rule_read(&rd, dom, fixes);
        if (rc == MT_OK)
            rc = mt_rule_read(&rd, dom, levers);
        if (rc == MT_OK)
            rc = mt_rule_read(&rd, dom, programs);
    }
    if (rc == MT_OK)
        rc = check_references(r, err);
    /* Cells of the overlay take the place of built-in ones. */
    if (rc == MT_OK)
        rc = mt_rule_builtin(&rd, ORDER_FILE, order);
    memset(parse.in_file, 0, sizeof parse.in_file);
    rd.file = r->overlay;
    rd.is_overlay = true;
    if (rc == MT_OK && mt_rule_field(dom, "order") != NULL)
        rc = mt_rule_each(&rd, mt_rule_field(dom, "order"), order);
out:
    cJSON_Delete(dom);
    MT_VEC_DONE(&parse.levers);
    MT_VEC_DONE(&parse.came);
    if (rc != MT_OK)
        mt_fix_rules_free(r);
    else
        *out = r;
    return rc;
}

enum mt_rc mt_fix_rules_check(const struct mt_fix_rules *r, struct mt_err *err)
{
    struct mt_metric_names names = r->names;
    enum mt_rc rc = MT_OK;
    for (uint32_t i = 0; rc == MT_OK && i < r->exprs.v.n; i++) {
        const char *text = mt_expr_text(r->exprs.v.p[i]);
        struct mt_err why = {.rc = MT_OK};
        rc = mt_expr_now(r->exprs.v.p[i], mt_metric_exists, &names, &why);
        if (rc != MT_OK)
            rc = mt_fail(err, rc, "\"%s\": %s", text, why.msg);
    }
    return rc;
}

void mt_fix_rules_free(struct mt_fix_rules *r)
{
    if (r == NULL)
        return;
    for (uint32_t i = 0; i < r->exprs.v.n; i++)
        mt_expr_free(r->exprs.v.p[i]);
    MT_VEC_DONE(&r->exprs.v);
    mt_metric_rules_free(r->metrics);
    mt_runconf_free(r->settings);
    MT_VEC_DONE(&r->rule);
    mt_arena_done(&r->arena);
    mt_free(r);
}
