/* advice/rule_line.c -- one line of a rule: what to type, for whom, and what its value is computed
 * from. */
#include "analysis/advice/rule_parse.h"

#include <string.h>

static uint64_t role_bit(const char *s)
{
    return strcmp(s, "actor") == 0    ? MT_FIX_ACTOR
           : strcmp(s, "critic") == 0 ? MT_FIX_CRITIC
           : strcmp(s, "ref") == 0    ? MT_FIX_REF
                                      : 0;
}

static enum mt_rc line_text(const struct mt_fix_parse *p, struct mt_fix_line *l)
{
    const char *sep = l->syntax == MT_FIX_YAML ? ": " : l->syntax == MT_FIX_FLAG ? " " : "=";
    size_t nk = strlen(l->key), nv = strlen(l->value), ns = nk > 0 && nv > 0 ? strlen(sep) : 0;
    char *t = mt_arena_alloc(p->arena, nk + ns + nv + 1, 1);
    if (t == NULL)
        return mt_fix_nomem(p);
    memcpy(t, l->key, nk);
    memcpy(t + nk, sep, ns);
    memcpy(t + nk + ns, l->value, nv + 1);
    l->text = t;
    return MT_OK;
}

/* "moved": the key has another name where a frame shows a newer version of the framework. */
static enum mt_rc parse_moved(const struct mt_fix_parse *p, const cJSON *obj, struct mt_fix_line *l)
{
    static const char *const known[] = {"key", "frames", NULL};
    const cJSON *moved = mt_rule_field(obj, "moved");
    enum mt_rc rc;
    if (moved == NULL)
        return MT_OK;
    rc = mt_fix_check_fields(p, moved, known);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, moved, "key", MT_FIX_REQUIRED, &l->key_since);
    if (rc == MT_OK)
        rc = mt_fix_get_pairs(p, moved, "frames", "file", "function", true, &l->key_frames,
                              &l->n_key_frames);
    if (rc == MT_OK && l->n_key_frames == 0)
        rc = mt_fix_bad(p, "frames", "is missing: by which frame is the newer version known?");
    if (rc != MT_OK)
        mt_err_context(p->err, "while reading \"moved\"");
    return rc;
}

/* "layout": the value is made of the present allocation string. */
static enum mt_rc parse_layout(const struct mt_fix_parse *p, const cJSON *obj,
                               struct mt_fix_line *l)
{
    static const char *const known[] = {"setting", "take", "give", "names", NULL};
    static const char *const settings[] = {"actor.backend", "rollout.backend", NULL};
    static const char *const letters[] = {"d", "t", "p", "c", "e", NULL};
    const cJSON *layout = mt_rule_field(obj, "layout");
    struct mt_fix_layout *out;
    int setting = 0, take = 0, give = 0;
    enum mt_rc rc;
    if (layout == NULL)
        return MT_OK;
    out = mt_arena_alloc(p->arena, sizeof *out, _Alignof(struct mt_fix_layout));
    if (out == NULL)
        return mt_fix_nomem(p);
    out->names = "";
    rc = mt_fix_check_fields(p, layout, known);
    if (rc == MT_OK)
        rc = mt_fix_get_word(p, layout, "setting", settings, &setting);
    if (rc == MT_OK)
        rc = mt_fix_get_word(p, layout, "take", letters, &take);
    if (rc == MT_OK)
        rc = mt_fix_get_word(p, layout, "give", letters, &give);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, layout, "names", MT_FIX_OPTIONAL, &out->names);
    if (rc == MT_OK && take == give)
        rc = mt_fix_bad(p, "give", "is the degree that is taken from");
    if (rc != MT_OK) {
        mt_err_context(p->err, "while reading \"layout\"");
        return rc;
    }
    out->setting = settings[setting];
    out->take = letters[take][0];
    out->give = letters[give][0];
    l->layout = out;
    return MT_OK;
}

/* "caution": what to mind about the value where the numbers at hand do not settle it. */
static enum mt_rc parse_caution(const struct mt_fix_parse *p, const cJSON *obj,
                                struct mt_fix_line *l)
{
    static const char *const known[] = {"when", "text", NULL};
    const cJSON *caution = mt_rule_field(obj, "caution");
    enum mt_rc rc;
    if (caution == NULL)
        return MT_OK;
    rc = mt_fix_check_fields(p, caution, known);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, caution, "text", MT_FIX_REQUIRED, &l->caution);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, caution, "when", &l->caution_when);
    if (rc == MT_OK && l->caution_when.e == NULL)
        rc = mt_fix_bad(p, "when", "is missing: what is always to be minded is a note");
    if (rc != MT_OK)
        mt_err_context(p->err, "while reading \"caution\"");
    return rc;
}

enum mt_rc mt_fix_parse_line(const struct mt_fix_parse *p, const cJSON *obj, struct mt_fix_line *l)
{
    static const char *const known[] = {"syntax", "key",    "value",   "note",    "frameworks",
                                        "phases", "roles",  "when",    "propose", "saving",
                                        "moved",  "layout", "caution", NULL};
    static const char *const syntaxes[] = {"hydra",  "yaml",  "flag", "env",
                                           "python", "shell", "text", NULL};
    uint64_t phases = 0, roles = 0;
    int syntax = 0;
    enum mt_rc rc;

    memset(l, 0, sizeof *l);
    l->key = l->value = l->note = l->caution = l->key_since = "";
    rc = mt_fix_check_fields(p, obj, known);
    if (rc == MT_OK)
        rc = mt_fix_get_word(p, obj, "syntax", syntaxes, &syntax);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "key", MT_FIX_MAY_BE_EMPTY, &l->key);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "value", MT_FIX_MAY_BE_EMPTY, &l->value);
    if (rc == MT_OK)
        rc = mt_fix_get_text(p, obj, "note", MT_FIX_OPTIONAL, &l->note);
    if (rc == MT_OK)
        rc = mt_fix_get_frameworks(p, obj, "frameworks", false, &l->frameworks);
    if (rc == MT_OK)
        rc = mt_fix_get_mask(p, obj, "phases", false, mt_fix_class_bit, "a phase class", &phases);
    if (rc == MT_OK)
        rc = mt_fix_get_mask(p, obj, "roles", false, role_bit, "one of actor, critic, ref", &roles);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, obj, "when", &l->when);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, obj, "propose", &l->propose);
    if (rc == MT_OK)
        rc = mt_fix_parse_saving(p, obj, &l->saving);
    if (rc == MT_OK)
        rc = parse_moved(p, obj, l);
    if (rc == MT_OK)
        rc = parse_layout(p, obj, l);
    if (rc == MT_OK)
        rc = parse_caution(p, obj, l);
    if (rc != MT_OK)
        return rc;
    l->syntax = (enum mt_fix_syntax)syntax;
    l->phases = (uint32_t)phases;
    l->roles = (uint32_t)roles;
    if (l->syntax <= MT_FIX_ENV && l->key[0] == 0)
        return mt_fix_bad(p, "key", "is empty, but a line of syntax \"%s\" needs one",
                          syntaxes[syntax]);
    if (l->syntax == MT_FIX_FLAG ? strncmp(l->key, "--", 2) != 0 : l->value[0] == 0)
        return l->syntax == MT_FIX_FLAG ? mt_fix_bad(p, "key", "a flag begins with --")
                                        : mt_fix_bad(p, "value", "is empty");
    return line_text(p, l);
}
