/* advice/rule_program.c -- programs without a file of their own: a lever says where a change acts
 * and which way its number goes, a program only what it calls it. Both are data, and a program is
 * a few lines. */
#include "analysis/advice/rule_parse.h"

#include <stdio.h>
#include <string.h>

/* ---- levers ---- */

#define AT(member) offsetof(struct mt_fix_lever, member)
static const struct mt_rule_spec lever_fields[] = {
    {"lever", mt_get_text, AT(name), .is_needed = true},
    {"value", mt_get_text, AT(line.value), .is_needed = true},
    {"phases", mt_fix_get_classes, AT(line.phases), .is_needed = true},
    {"moves", mt_get_word, .at = AT(line.moves), .more = mt_fix_ways},
    {"note", mt_get_text, .at = AT(line.note)},
    {"frees", mt_fix_get_sources, .at = AT(line.frees)},
    {"when", mt_fix_get_expr, .at = AT(line.when)},
    {"usual", mt_fix_get_expr, .at = AT(line.usual)},
    {.name = NULL}};

static const struct mt_fix_lever *find(const struct mt_fix_parse *p, const char *name)
{
    for (uint32_t i = p->levers.n; name != NULL && i-- > 0;) /* an overlay's goes first */
        if (strcmp(p->levers.p[i].name, name) == 0)
            return &p->levers.p[i];
    return NULL;
}

enum mt_rc mt_fix_add_lever(struct mt_rule_reader *r, const cJSON *obj)
{
    struct mt_fix_parse *p = r->of;
    struct mt_fix_lever *slot = MT_VEC_PUSH(&p->levers);
    if (slot == NULL)
        return mt_rule_nomem(r);
    *slot = (struct mt_fix_lever){
        "", {.key = "", .value = "", .note = "", .only_if = "", .caution = "", .key_since = ""}};
    return mt_rule_fields(r, obj, lever_fields, slot);
}
#undef AT

/* ---- programs ---- */

#define AT(member) offsetof(struct mt_fix_line, member)
static const struct mt_rule_spec line_fields[] = {
    {"lever", NULL, .at = 0},
    {"key", mt_get_text, .at = AT(key)},
    {"value", mt_get_any_text, .at = AT(value)},
    {"syntax", mt_get_word, .at = AT(syntax), .more = mt_fix_syntaxes},
    {"note", mt_get_text, .at = AT(note)},
    {"when", mt_fix_get_expr, .at = AT(when)},
    {"usual", mt_fix_get_expr, .at = AT(usual)},
    {"phases", mt_fix_get_classes, .at = AT(phases)},
    {.name = NULL}};
#undef AT

struct program {
    struct mt_fix_rule rule;
    mt_fw of;
    int syntax;
    const cJSON *keys;
};

/* They are read when the syntax is known. */
static MT_RULE_GET(get_later)
{
    *(const cJSON **)out = v;
    return cJSON_IsArray(v) && v->child != NULL ? MT_OK
                                                : mt_rule_bad(r, f->name, "has to be a list");
}

#define AT(member) offsetof(struct program, member)
static const struct mt_rule_spec fields[] = {
    {"program", mt_get_framework, AT(of), .is_needed = true},
    {"id", mt_get_text, AT(rule.id), .is_needed = true},
    {"source", mt_get_text, AT(rule.source), .is_needed = true},
    {"syntax", mt_get_word, AT(syntax), .is_needed = true, .more = mt_fix_syntaxes},
    {"when", mt_fix_get_expr, .at = AT(rule.card.when)},
    {"keys", get_later, AT(keys), .is_needed = true},
    {.name = NULL}};
#undef AT

static enum mt_rc add_line(const struct mt_rule_reader *r, const cJSON *obj, int syntax,
                           struct mt_fix_line *out)
{
    const char *name = mt_rule_text_of(obj, "lever");
    const struct mt_fix_lever *lever = find(r->of, name);
    enum mt_rc rc;
    if (lever == NULL)
        return mt_rule_bad(r, "lever", "there is no lever of that name");
    *out = lever->line;
    out->syntax = (enum mt_fix_syntax)syntax;
    rc = mt_rule_fields(r, obj, line_fields, out);
    if (out->key[0] == '\0') /* in words: there is no number to be moved */
        out->moves = MT_FIX_EITHER;
    return rc == MT_OK ? mt_fix_line_rows.done(r, "keys", out) : rc;
}

/* "trlx's memory settings" */
static const char *title_of(const struct mt_rule_reader *r, mt_fw of)
{
    char title[160];
    (void)snprintf(title, sizeof title, "%.100s's memory settings",
                   mt_framework_at(r->fw, of)->words);
    return mt_arena_strndup(r->arena, title, strlen(title));
}

enum mt_rc mt_fix_parse_program(const struct mt_rule_reader *r, const cJSON *obj,
                                struct mt_fix_rule *out)
{
    struct program p = {.of = MT_FW_NONE};
    struct mt_fix_line *set = NULL;
    const cJSON *c;
    enum mt_rc rc;
    p.rule.card.name = p.rule.card.current = p.rule.card.finding = "";
    p.rule.checked = p.rule.not_offered = p.rule.instead = p.rule.group = "";
    p.rule.file = r->file;
    rc = mt_rule_fields(r, obj, fields, &p);
    if (rc == MT_OK)
        rc = mt_rule_count(r, "keys", p.keys, &p.rule.card.n_set);
    if (rc == MT_OK && p.rule.card.n_set > MT_FIX_MAX_LINES)
        return mt_rule_bad(r, "keys", "has more lines than fit on a card");
    if (rc == MT_OK)
        set =
            mt_arena_alloc(r->arena, p.rule.card.n_set * sizeof *set, _Alignof(struct mt_fix_line));
    if (rc == MT_OK && set == NULL)
        return mt_rule_nomem(r);
    p.rule.card.set = set;
    cJSON_ArrayForEach(c, p.keys)
    {
        if (rc == MT_OK)
            rc = add_line(r, c, p.syntax, set);
        p.rule.phases |= rc == MT_OK ? set++->phases : 0;
    }
    if (rc != MT_OK)
        return rc;
    p.rule.frameworks = MT_FW_BIT(p.of);
    p.rule.for_words = mt_framework_at(r->fw, p.of)->words;
    p.rule.kind = MT_FIX_SETTING;
    p.rule.status = MT_FIX_DOC;
    p.rule.offered = p.rule.leads = true;
    p.rule.card.title = title_of(r, p.of);
    p.rule.card.why = "Each line makes a part of its own smaller: what a pass keeps, what is "
                      "generated at once, or what is there whatever the batch is.";
    p.rule.card.constraints = "none";
    p.rule.card.cost = "Smaller batches, recomputation and offloading take longer.";
    p.rule.no_saving = "A log does not say how large the parts are.";
    *out = p.rule;
    return out->card.title != NULL ? MT_OK : mt_rule_nomem(r);
}
