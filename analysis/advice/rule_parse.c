/* advice/rule_parse.c -- one rule with its card and variants. */
#include "analysis/advice/rule_parse.h"

#include "analysis/metrics/metrics.h"

#include <stdio.h>
#include <string.h>

/* Of settings.json. */
static MT_RULE_GET(get_setting)
{
    const struct mt_fix_parse *p = r->of;
    char full[80];
    enum mt_rc rc = mt_get_text(r, f, v, out);
    int n = rc == MT_OK ? snprintf(full, sizeof full, "setting.%s", *(const char **)out) : 0;
    if (rc == MT_OK &&
        (n < 0 || (size_t)n >= sizeof full || !mt_metric_exists(p->names, full, (size_t)n)))
        return mt_rule_bad(r, f->name, "there is no such name in settings.json");
    return rc;
}

static const struct mt_rule_spec set_fields[] = {
    {"key", mt_get_text, offsetof(struct mt_fix_pair, a), .is_needed = true},
    {"value", mt_get_text, offsetof(struct mt_fix_pair, b), .is_needed = true},
    {.name = NULL}};
static const struct mt_rule_spec doubt_fields[] = {
    {"id", mt_get_text, offsetof(struct mt_fix_pair, a), .is_needed = true},
    {"text", mt_get_text, offsetof(struct mt_fix_pair, b), .is_needed = true},
    {.name = NULL}};
static const struct mt_fix_pair no_pair = {"", ""};
static const struct mt_rule_rows set_rows = {set_fields, sizeof no_pair, &no_pair, NULL};
static const struct mt_rule_rows doubt_rows = {doubt_fields, sizeof no_pair, &no_pair, NULL};

/* What a card has; a variant inherits from its rule what it leaves out. m: where the card is. */
#define CARD(S, m, need)                                                                           \
    {"title", mt_get_text, offsetof(S, m title), .is_needed = need},                               \
        {"why", mt_get_text, offsetof(S, m why), .is_needed = need},                               \
        {"set", mt_get_rows, offsetof(S, m set), need, &mt_fix_line_rows, offsetof(S, m n_set)},   \
        {"constraints", mt_get_text, offsetof(S, m constraints), .is_needed = need},               \
        {"cost", mt_get_text, offsetof(S, m cost), .is_needed = need},                             \
        {"when", mt_fix_get_expr, .at = offsetof(S, m when)},                                      \
        {"unless", mt_fix_get_expr, .at = offsetof(S, m unless)},                                  \
        {"current", get_setting, .at = offsetof(S, m current)},                                    \
        {"moves", mt_get_word, .at = offsetof(S, m moves), .more = mt_fix_ways},                   \
        {"made", mt_fix_get_expr, .at = offsetof(S, m made)},                                      \
        {"finding", mt_get_text, .at = offsetof(S, m finding)},                                    \
        {"frees", mt_fix_get_sources, .at = offsetof(S, m frees)},                                 \
    {                                                                                              \
        "saving", mt_fix_get_saving, .at = offsetof(S, m saving)                                   \
    }

/* V01 ... : short, and safe in a file name or a link. */
static MT_RULE_GET(get_id)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    enum mt_rc rc = mt_get_text(r, f, v, out);
    const char *id = rc == MT_OK ? *(const char **)out : "";
    if (strlen(id) > 40 || strspn(id, letters) != strlen(id))
        return mt_rule_bad(r, f->name,
                           "letters, digits, dot, dash and underscore only, at most 40 of them");
    return rc;
}

/* "variants" are read when their rule is. */
static MT_RULE_GET(get_later)
{
    (void)r, (void)f, (void)v, (void)out;
    return MT_OK;
}

#define AT(member) offsetof(struct mt_fix_rule, member)
static const char *const kinds[] = {"setting", "tip", "capture", "reference", NULL};
static const char *const statuses[] = {"OK", "MOVED", "PARTIAL", "WRONG", "NOOP", "DOC", NULL};
static const struct mt_rule_spec fields[] = {
    {"id", get_id, AT(id), .is_needed = true},
    {"framework", mt_get_frameworks, AT(frameworks), .is_needed = true},
    {"kind", mt_get_word, AT(kind), true, kinds, 0},
    {"phases", mt_fix_get_classes, AT(phases), .is_needed = true},
    CARD(struct mt_fix_rule, card., true),
    {"source", mt_get_text, AT(source), .is_needed = true},
    {"status", mt_get_word, AT(status), true, statuses, 0},
    {"checked", mt_get_text, .at = AT(checked)},
    {"contradictions", mt_get_rows, AT(contradictions), false, &doubt_rows, AT(n_contradictions)},
    {"unless_setting", mt_get_rows, AT(unless_settings), false, &set_rows, AT(n_unless_settings)},
    {"unless_component", mt_get_frameworks, .at = AT(unless_components)},
    {"unless_frame", mt_get_rows, AT(unless_frames), false, &mt_fix_frame_rows,
     AT(n_unless_frames)},
    {"needs_frame", mt_get_rows, AT(needs_frames), false, &mt_fix_frame_rows, AT(n_needs_frames)},
    {"backend", mt_get_frameworks, .at = AT(backends)},
    {"instead_of", mt_get_texts, AT(instead_of), false, NULL, AT(n_instead_of)},
    {"variants", get_later, .at = 0},
    {"not_offered", mt_get_text, .at = AT(not_offered)},
    {"instead", mt_get_text, .at = AT(instead)},
    {"replaced_by", mt_get_texts, AT(replaced_by), false, NULL, AT(n_replaced_by)},
    {"no_saving", mt_get_text, .at = AT(no_saving)},
    {"group", mt_get_text, .at = AT(group)},
    {"leads", mt_get_flag, .at = AT(leads)},
    {.name = NULL}};
static const struct mt_rule_spec variant_fields[] = {
    {"name", mt_get_text, offsetof(struct mt_fix_card, name), .is_needed = true},
    CARD(struct mt_fix_card, , false),
    {.name = NULL}};

static enum mt_rc check_card(const struct mt_rule_reader *r, const char *field, void *row)
{
    const struct mt_fix_card *card = row;
    (void)field;
    if (card->moves != MT_FIX_EITHER && card->current[0] == 0)
        return mt_rule_bad(r, "current", "is missing: what is it that \"moves\"?");
    return card->n_set <= MT_FIX_MAX_LINES
               ? MT_OK
               : mt_rule_bad(r, "set", "has %u lines; at most %d fit on a card",
                             (unsigned)card->n_set, MT_FIX_MAX_LINES);
}

static enum mt_rc check_rule(const struct mt_rule_reader *r, struct mt_fix_rule *rule)
{
    if (rule->kind == MT_FIX_SETTING && rule->card.n_set == 0)
        return mt_rule_bad(r, "set",
                           "is empty, but a rule of kind \"setting\" has to say what to set");
    rule->offered = rule->not_offered[0] == 0;
    if (rule->offered && (rule->status == MT_FIX_WRONG || rule->status == MT_FIX_NOOP))
        return mt_rule_bad(r, "not_offered",
                           "is missing: a rule of status %s must say why it is not advised",
                           mt_fix_status_name(rule->status));
    if (!rule->offered && rule->instead[0] == 0)
        return mt_rule_bad(r, "instead",
                           "is missing: a rule that is not advised must say what to do instead");
    return MT_OK;
}

enum mt_rc mt_fix_parse_rule(const struct mt_rule_reader *r, const cJSON *obj,
                             struct mt_fix_rule *out)
{
    const struct mt_rule_rows rows = {variant_fields, sizeof out->card, &out->card, check_card};
    const struct mt_rule_spec variants = {"variants", mt_get_rows, AT(variants),
                                          false,      &rows,       AT(n_variants)};
    const cJSON *v = mt_rule_field(obj, "variants");
    char words[600];
    enum mt_rc rc;
    memset(out, 0, sizeof *out);
    out->card.name = out->card.current = out->card.finding = "";
    out->checked = out->not_offered = out->instead = out->group = out->no_saving = "";
    out->file = r->file;
    rc = mt_rule_fields(r, obj, fields, out);
    if (rc == MT_OK)
        rc = check_card(r, NULL, &out->card);
    if (rc == MT_OK && v != NULL)
        rc = mt_get_rows(r, &variants, v, &out->variants);
    if (rc != MT_OK)
        return rc;
    mt_framework_mask_words(r->fw, out->frameworks, words, sizeof words);
    out->for_words = mt_arena_strndup(r->arena, words, strlen(words));
    return out->for_words != NULL ? check_rule(r, out) : mt_rule_nomem(r);
}
