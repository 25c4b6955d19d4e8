/* advice/rule_line.c -- one line of a rule: what to type, for whom, and what its value is computed
 * from. */
#include "analysis/advice/rule_parse.h"

#include <string.h>

/* "layout": the value is made of the present allocation string. */
static MT_RULE_GET(get_layout)
{
    static const char *const settings[] = {"actor.backend", "rollout.backend", "ref.backend", NULL};
    static const char *const letters[] = {"d", "t", "p", "c", "e", NULL};
    struct row {
        int setting, take, give;
        const char *names;
    } row = {.names = ""};
    static const struct mt_rule_spec fields[] = {
        {"setting", mt_get_word, offsetof(struct row, setting), true, settings, 0},
        {"take", mt_get_word, offsetof(struct row, take), true, letters, 0},
        {"give", mt_get_word, offsetof(struct row, give), true, letters, 0},
        {"names", mt_get_text, .at = offsetof(struct row, names)},
        {.name = NULL}};
    const struct mt_rule_spec object = {.name = f->name, .more = fields};
    struct mt_fix_layout *layout =
        mt_arena_alloc(r->arena, sizeof *layout, _Alignof(struct mt_fix_layout));
    enum mt_rc rc = layout != NULL ? mt_get_object(r, &object, v, &row) : mt_rule_nomem(r);
    if (rc == MT_OK && row.take == row.give)
        rc = mt_rule_bad(r, "give", "is the degree that is taken from");
    if (rc == MT_OK)
        *layout = (struct mt_fix_layout){settings[row.setting], letters[row.take][0],
                                         letters[row.give][0], row.names};
    *(const struct mt_fix_layout **)out = layout;
    return rc;
}

#define AT(member) offsetof(struct mt_fix_line, member)
/* The key has another name where a frame shows a newer version of the framework. */
static const struct mt_rule_spec moved_fields[] = {
    {"key", mt_get_text, AT(key_since), .is_needed = true},
    {"frames", mt_get_rows, AT(key_frames), true, &mt_fix_frame_rows, AT(n_key_frames)},
    {.name = NULL}};
/* What to mind about the value where the numbers at hand do not settle it. */
static const struct mt_rule_spec caution_fields[] = {
    {"text", mt_get_text, AT(caution), .is_needed = true},
    {"when", mt_fix_get_expr, AT(caution_when), .is_needed = true},
    {.name = NULL}};
/* What the saving of the line hangs on. */
static const struct mt_rule_spec only_if_fields[] = {
    {"text", mt_get_text, AT(only_if), .is_needed = true},
    {"when", mt_fix_get_expr, AT(only_if_when), .is_needed = true},
    {.name = NULL}};
const char *const mt_fix_syntaxes[] = {"hydra",  "yaml",  "flag", "env",
                                       "python", "shell", "text", NULL};
static const char *const roles[] = {"actor", "critic", "ref", NULL}; /* enum mt_fix_role */
static const struct mt_rule_spec fields[] = {
    {"syntax", mt_get_word, AT(syntax), true, mt_fix_syntaxes, 0},
    {"key", mt_get_any_text, AT(key), .is_needed = true},
    {"value", mt_get_any_text, AT(value), .is_needed = true},
    {"note", mt_get_text, .at = AT(note)},
    {"frameworks", mt_get_frameworks, .at = AT(frameworks)},
    {"phases", mt_fix_get_classes, .at = AT(phases)},
    {"roles", mt_get_bits, .at = AT(roles), .more = roles},
    {"when", mt_fix_get_expr, .at = AT(when)},
    {"usual", mt_fix_get_expr, .at = AT(usual)},
    {"propose", mt_fix_get_expr, .at = AT(propose)},
    {"part_of", mt_fix_get_expr, .at = AT(part_of)},
    {"saving", mt_fix_get_saving, .at = AT(saving)},
    {"frees", mt_fix_get_sources, .at = AT(frees)},
    {"moved", mt_get_object, .at = 0, .more = moved_fields},
    {"layout", get_layout, .at = AT(layout)},
    {"caution", mt_get_object, .at = 0, .more = caution_fields},
    {"only_if", mt_get_object, .at = 0, .more = only_if_fields},
    {"goes_with", mt_get_flag, .at = AT(goes_with)},
    {"as_set", mt_get_flag, .at = AT(as_set)},
    {"moves", mt_get_word, .at = AT(moves), .more = mt_fix_ways},
    {.name = NULL}};

static enum mt_rc add_text(const struct mt_rule_reader *r, struct mt_fix_line *l)
{
    const char *sep = l->syntax == MT_FIX_YAML ? ": " : l->syntax == MT_FIX_FLAG ? " " : "=";
    size_t nk = strlen(l->key), nv = strlen(l->value), ns = nk > 0 && nv > 0 ? strlen(sep) : 0;
    char *t = mt_arena_alloc(r->arena, nk + ns + nv + 1, 1);
    if (t == NULL)
        return mt_rule_nomem(r);
    memcpy(t, l->key, nk);
    memcpy(t + nk, sep, ns);
    memcpy(t + nk + ns, l->value, nv + 1);
    l->text = t;
    return MT_OK;
}

static enum mt_rc finish(const struct mt_rule_reader *r, const char *field, void *row)
{
    struct mt_fix_line *l = row;
    (void)field;
    if (l->key_since[0] != '\0' && l->n_key_frames == 0)
        return mt_rule_bad(r, "frames", "is empty: by which frame is the newer version known?");
    if (l->caution[0] != '\0' && l->caution_when.e == NULL)
        return mt_rule_bad(r, "when", "is empty: what is always to be minded is a note");
    if (l->only_if[0] != '\0' && l->only_if_when.e == NULL)
        return mt_rule_bad(r, "when", "is empty: what does the saving hang on, and when?");
    if (l->syntax <= MT_FIX_ENV && l->key[0] == '\0')
        return mt_rule_bad(r, "key", "is empty, but a line of syntax \"%s\" needs one",
                           mt_fix_syntaxes[l->syntax]);
    if (l->syntax == MT_FIX_FLAG && strncmp(l->key, "--", 2) != 0)
        return mt_rule_bad(r, "key", "a flag begins with --");
    if (l->moves != MT_FIX_EITHER && l->key[0] == '\0')
        return mt_rule_bad(r, "moves", "needs a key whose number it is");
    if (l->syntax != MT_FIX_FLAG && l->value[0] == '\0')
        return mt_rule_bad(r, "value", "is empty");
    if (l->syntax != MT_FIX_TEXT) /* words may name what a newer one has */
        l->since = mt_fix_since(r->of, l->value);
    return add_text(r, l);
}

static const struct mt_fix_line blank = {
    .key = "", .value = "", .note = "", .only_if = "", .caution = "", .key_since = ""};
const struct mt_rule_rows mt_fix_line_rows = {fields, sizeof blank, &blank, finish};

uint32_t mt_fix_frees(const struct mt_fix_card *card, const struct mt_fix_line *l)
{
    return l->frees != 0          ? l->frees
           : l->saving != NULL    ? l->saving->from
           : card->frees != 0     ? card->frees
           : card->saving != NULL ? card->saving->from
                                  : 0;
}
