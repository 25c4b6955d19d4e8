/* advice/rule_parse.c -- one rule with its card and variants. */
#include "analysis/advice/rule_parse.h"

#include "analysis/metrics/metrics.h"

#include <stdio.h>
#include <string.h>

/* Of settings.json; "" is none. */
static bool is_setting(const struct mt_fix_parse *p, const char *name)
{
    char full[80];
    int n = snprintf(full, sizeof full, "setting.%s", name);
    return name[0] == 0 ||
           (n > 0 && (size_t)n < sizeof full && mt_metric_exists(p->names, full, (size_t)n));
}

/* Fields that a card has; a variant inherits from `base` what it leaves out. */
static enum mt_rc parse_card(const struct mt_fix_parse *p, const cJSON *obj,
                             const struct mt_fix_card *base, struct mt_fix_card *card)
{
    enum mt_fix_need need = base == NULL ? MT_FIX_REQUIRED : MT_FIX_OPTIONAL;
    const cJSON *list, *c;
    struct mt_fix_line *set;
    uint32_t i = 0, n;
    enum mt_rc rc;

    if (base != NULL)
        *card = *base;
    else
        card->current = "";
    rc = mt_fix_get_text(p, obj, "title", need, &card->title);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "why", need, &card->why);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "constraints", need, &card->constraints);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "cost", need, &card->cost);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, obj, "when", &card->when);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, obj, "unless", &card->unless);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "current", MT_FIX_OPTIONAL, &card->current);
    if (rc == MT_OK)
        rc = mt_fix_parse_saving(p, obj, &card->saving);
    if (rc == MT_OK && !is_setting(p, card->current))
        rc = mt_fix_bad(p, "current", "there is no such name in settings.json");
    if (rc == MT_OK)
        rc = mt_fix_get_list(p, obj, "set", base == NULL, &list, &n);
    if (rc != MT_OK || list == NULL)
        return rc;
    if (n > MT_FIX_MAX_LINES)
        return mt_fix_bad(p, "set", "has %u lines; at most %d fit on a card", (unsigned)n,
                          MT_FIX_MAX_LINES);
    set = mt_arena_alloc(p->arena, (n > 0 ? n : 1) * sizeof *set, _Alignof(struct mt_fix_line));
    if (set == NULL)
        return mt_fix_nomem(p);
    cJSON_ArrayForEach(c, list)
    {
        rc = mt_fix_parse_line(p, c, &set[i++]);
        if (rc != MT_OK) {
            mt_err_context(p->err, "while reading line %u of \"set\"", (unsigned)i);
            return rc;
        }
    }
    card->set = set;
    card->n_set = n;
    return MT_OK;
}

static enum mt_rc parse_variants(const struct mt_fix_parse *p, const cJSON *obj,
                                 struct mt_fix_rule *r)
{
    static const char *const known[] = {"name",        "title",  "why",  "set",
                                        "constraints", "cost",   "when", "unless",
                                        "current",     "saving", NULL};
    const cJSON *list, *c;
    struct mt_fix_card *v;
    uint32_t i = 0;
    enum mt_rc rc = mt_fix_get_list(p, obj, "variants", false, &list, &r->n_variants);
    if (rc != MT_OK || r->n_variants == 0)
        return rc;
    v = mt_arena_alloc(p->arena, r->n_variants * sizeof *v, _Alignof(struct mt_fix_card));
    if (v == NULL)
        return mt_fix_nomem(p);
    cJSON_ArrayForEach(c, list)
    {
        rc = mt_fix_check_fields(p, c, known);
        if (rc == MT_OK)
            rc = parse_card(p, c, &r->card, &v[i]);
        if (rc == MT_OK)
            rc = mt_fix_get_text(p, c, "name", MT_FIX_REQUIRED, &v[i].name);
        if (rc != MT_OK) {
            mt_err_context(p->err, "while reading \"variants\"");
            return rc;
        }
        i++;
    }
    r->variants = v;
    return MT_OK;
}

static enum mt_rc check_rule(const struct mt_fix_parse *p, struct mt_fix_rule *r)
{
    if (r->kind == MT_FIX_SETTING && r->card.n_set == 0)
        return mt_fix_bad(p, "set",
                          "is empty, but a rule of kind \"setting\" has to say what to set");
    r->offered = r->not_offered[0] == 0;
    if (r->offered && (r->status == MT_FIX_WRONG || r->status == MT_FIX_NOOP))
        return mt_fix_bad(p, "not_offered",
                          "is missing: a rule of status %s must say why it is not advised",
                          mt_fix_status_name(r->status));
    if (!r->offered && r->instead[0] == 0)
        return mt_fix_bad(p, "instead",
                          "is missing: a rule that is not advised must say what to do instead");
    return MT_OK;
}

/* V01 ... : short, and safe in a file name or a link. */
static enum mt_rc parse_id(struct mt_fix_parse *p, const cJSON *obj, struct mt_fix_rule *r)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    char *where;
    enum mt_rc rc = mt_fix_get_text(p, obj, "id", MT_FIX_REQUIRED, &r->id);
    if (rc != MT_OK)
        return rc;
    if (strlen(r->id) > 40 || strspn(r->id, letters) != strlen(r->id))
        return mt_fix_bad(p, "id",
                          "letters, digits, dot, dash and underscore only, at most 40 of them");
    where = mt_arena_alloc(p->arena, strlen(r->id) + 6, 1);
    if (where == NULL)
        return mt_fix_nomem(p);
    memcpy(where, "rule ", 5);
    memcpy(where + 5, r->id, strlen(r->id) + 1);
    p->where = where;
    return MT_OK;
}

enum mt_rc mt_fix_parse_rule(struct mt_fix_parse *p, const cJSON *obj, struct mt_fix_rule *r)
{
    static const char *const known[] = {
        "id",           "framework",   "kind",           "phases",         "title",
        "why",          "set",         "constraints",    "cost",           "source",
        "status",       "checked",     "contradictions", "unless_setting", "unless_component",
        "unless_frame", "needs_frame", "backend",        "instead_of",     "variants",
        "not_offered",  "instead",     "replaced_by",    "when",           "unless",
        "current",      "saving",      "no_saving",      "group",          NULL};
    static const char *const kinds[] = {"setting", "tip", "capture", "reference", NULL};
    static const char *const statuses[] = {"OK", "MOVED", "PARTIAL", "WRONG", "NOOP", "DOC", NULL};
    char words[600];
    uint64_t phases = 0;
    int kind = 0, status = 0;
    enum mt_rc rc;

    memset(r, 0, sizeof *r);
    r->card.name = r->checked = r->not_offered = r->instead = r->group = r->no_saving = "";
    r->file = p->file;
    if (!cJSON_IsObject(obj))
        return mt_fix_bad(p, NULL, "an object in braces is expected here");
    rc = parse_id(p, obj, r);
    if (rc == MT_OK)
        rc = mt_fix_check_fields(p, obj, known);
    if (rc == MT_OK)
        rc = mt_fix_get_frameworks(p, obj, "framework", true, &r->frameworks);
    if (rc == MT_OK)
        rc = mt_fix_get_word(p, obj, "kind", kinds, &kind);
    if (rc == MT_OK)
        rc = mt_fix_get_mask(p, obj, "phases", true, mt_fix_class_bit, "a phase class", &phases);
    if (rc == MT_OK)
        rc = mt_fix_get_word(p, obj, "status", statuses, &status);
    if (rc == MT_OK)
        rc = parse_card(p, obj, NULL, &r->card);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "source", MT_FIX_REQUIRED, &r->source);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "checked", MT_FIX_OPTIONAL, &r->checked);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "not_offered", MT_FIX_OPTIONAL, &r->not_offered);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "instead", MT_FIX_OPTIONAL, &r->instead);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "group", MT_FIX_OPTIONAL, &r->group);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "no_saving", MT_FIX_OPTIONAL, &r->no_saving);
    if (rc == MT_OK)
        rc = mt_fix_get_pairs(p, obj, "contradictions", "id", "text", false, &r->contradictions,
                              &r->n_contradictions);
    if (rc == MT_OK)
        rc = mt_fix_get_pairs(p, obj, "unless_setting", "key", "value", false, &r->unless_settings,
                              &r->n_unless_settings);
    if (rc == MT_OK)
        rc = mt_fix_get_pairs(p, obj, "unless_frame", "file", "function", true, &r->unless_frames,
                              &r->n_unless_frames);
    if (rc == MT_OK)
        rc = mt_fix_get_pairs(p, obj, "needs_frame", "file", "function", true, &r->needs_frames,
                              &r->n_needs_frames);
    if (rc == MT_OK)
        rc = mt_fix_get_frameworks(p, obj, "unless_component", false, &r->unless_components);
    if (rc == MT_OK)
        rc = mt_fix_get_frameworks(p, obj, "backend", false, &r->backends);
    if (rc == MT_OK)
        rc = mt_fix_get_texts(p, obj, "instead_of", &r->instead_of, &r->n_instead_of);
    if (rc == MT_OK)
        rc = mt_fix_get_texts(p, obj, "replaced_by", &r->replaced_by, &r->n_replaced_by);
    if (rc != MT_OK)
        return rc;
    r->kind = (enum mt_fix_kind)kind;
    r->status = (enum mt_fix_status)status;
    r->phases = (uint32_t)phases;
    rc = parse_variants(p, obj, r);
    if (rc == MT_OK) {
        mt_framework_mask_words(p->fw, r->frameworks, words, sizeof words);
        r->for_words = mt_arena_strndup(p->arena, words, strlen(words));
        rc = r->for_words != NULL ? MT_OK : mt_fix_nomem(p);
    }
    return rc == MT_OK ? check_rule(p, r) : rc;
}
