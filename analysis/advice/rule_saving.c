/* advice/rule_saving.c -- the part of a rule that computes: conditions, proposed numbers, savings.
 */
#include "analysis/advice/rule_parse.h"

#include "analysis/metrics/metrics.h"

#include <string.h>

enum mt_rc mt_fix_parse_expr(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                             struct mt_fix_expr *out)
{
    const cJSON *v = mt_rule_field(obj, field);
    struct mt_err why = {.rc = MT_OK};
    struct mt_expr *e, **slot;
    const char *text;
    enum mt_rc rc;

    if (v == NULL)
        return MT_OK;
    if (!cJSON_IsString(v))
        return mt_fix_bad(p, field, "an expression in quotes is expected");
    memset(out, 0, sizeof *out);
    if (v->valuestring[0] == 0) /* a variant that has none, unlike its rule */
        return MT_OK;
    text = mt_fix_keep(p, v);
    if (text == NULL)
        return mt_fix_nomem(p);
    rc = mt_expr_compile(&e, text, mt_metric_exists, p->names, &why);
    if (rc != MT_OK)
        return rc == MT_ENOMEM ? mt_fix_nomem(p) : mt_fix_bad(p, field, "%s", why.msg);
    slot = MT_VEC_PUSH(&p->exprs->v);
    if (slot == NULL) {
        mt_expr_free(e);
        return mt_fix_nomem(p);
    }
    *slot = e;
    out->text = text;
    out->e = e;
    return MT_OK;
}

static uint32_t source_bit(const char *s)
{
    int role = mt_role_find(s, strlen(s));
    if (role >= 0)
        return 1u << role;
    return strcmp(s, "cache") == 0     ? MT_FIX_FROM_CACHE
           : strcmp(s, "pending") == 0 ? MT_FIX_FROM_PENDING
           : strcmp(s, "outside") == 0 ? MT_FIX_FROM_OUTSIDE
           : strcmp(s, "request") == 0 ? MT_FIX_FROM_REQUEST
           : strcmp(s, "grown") == 0   ? MT_FIX_FROM_GROWN
                                       : 0;
}

static enum mt_rc parse_from(const struct mt_fix_parse *p, const cJSON *list, uint32_t *out)
{
    const cJSON *c;
    char name[64];
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
        return mt_fix_bad(p, "from",
                          "a list of what the bytes are taken from is expected: role ids, cache, "
                          "pending, outside, request, grown");
    cJSON_ArrayForEach(c, list)
    {
        uint32_t bit = cJSON_IsString(c) ? source_bit(c->valuestring) : 0;
        if (bit == 0)
            return mt_fix_bad(
                p, "from",
                "\"%s\" is neither a role id nor cache, pending, outside, request or grown",
                cJSON_IsString(c)
                    ? mt_printable(name, sizeof name, c->valuestring, strlen(c->valuestring))
                    : "...");
        *out |= bit;
    }
    return MT_OK;
}

static enum mt_rc fill(const struct mt_fix_parse *p, const cJSON *v, struct mt_fix_saving *s)
{
    static const char *const known[] = {"bytes", "low", "high", "confidence", "from", "note", NULL};
    static const char *const words[] = {"high", "medium", "low", NULL};
    const cJSON *conf = mt_rule_field(v, "confidence");
    const cJSON *note = mt_rule_field(v, "note");
    int c = 0;
    enum mt_rc rc = mt_fix_check_fields(p, v, known);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, v, "bytes", &s->bytes);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, v, "low", &s->low);
    if (rc == MT_OK)
        rc = mt_fix_parse_expr(p, v, "high", &s->high);
    if (rc == MT_OK)
        rc = parse_from(p, mt_rule_field(v, "from"), &s->from);
    if (rc != MT_OK)
        return rc;
    if (s->bytes.e == NULL)
        return mt_fix_bad(p, "bytes", "is missing");
    while (words[c] != NULL && (!cJSON_IsString(conf) || strcmp(words[c], conf->valuestring) != 0))
        c++;
    if (words[c] == NULL)
        return mt_fix_bad(p, "confidence", "is missing or not one of high, medium, low");
    s->conf = (enum mt_fix_conf)c;
    s->note = "";
    if (note != NULL && !cJSON_IsString(note))
        return mt_fix_bad(p, "note", "a text in quotes is expected");
    if (note != NULL)
        s->note = mt_fix_keep(p, note);
    return s->note == NULL ? mt_fix_nomem(p) : MT_OK;
}

enum mt_rc mt_fix_parse_saving(const struct mt_fix_parse *p, const cJSON *obj,
                               const struct mt_fix_saving **out)
{
    const cJSON *v = mt_rule_field(obj, "saving");
    struct mt_fix_saving *s;
    enum mt_rc rc;
    if (v == NULL)
        return MT_OK;
    *out = NULL;
    if (cJSON_IsNull(v)) /* a variant that has none, unlike its rule */
        return MT_OK;
    s = mt_arena_alloc(p->arena, sizeof *s, _Alignof(struct mt_fix_saving));
    if (s == NULL)
        return mt_fix_nomem(p);
    memset(s, 0, sizeof *s);
    rc = fill(p, v, s);
    if (rc != MT_OK)
        mt_err_context(p->err, "while reading \"saving\"");
    *out = rc == MT_OK ? s : NULL;
    return rc;
}
