/* advice/rule_saving.c -- the part of a rule that computes: conditions, proposed numbers, savings.
 */
#include "analysis/advice/rule_parse.h"

#include "analysis/metrics/metrics.h"

#include <string.h>

MT_RULE_GET(mt_fix_get_expr)
{
    const struct mt_fix_parse *p = r->of;
    struct mt_fix_expr *expr = out;
    struct mt_err why = {.rc = MT_OK};
    struct mt_expr *e, **slot;
    enum mt_rc rc = mt_get_any_text(r, f, v, &expr->text);
    expr->e = NULL;
    if (rc != MT_OK || expr->text[0] == '\0') /* a variant that has none, unlike its rule */
        return rc;
    if (r->is_overlay) {
        rc = mt_expr_compile(&e, expr->text, mt_metric_exists, p->names, &why);
    } else if ((e = mt_expr_later(expr->text)) == NULL) { /* mt_fix_rules_check() looks at them */
        rc = MT_ENOMEM;
    }
    if (rc != MT_OK)
        return rc == MT_ENOMEM ? mt_rule_nomem(r) : mt_rule_bad(r, f->name, "%s", why.msg);
    slot = MT_VEC_PUSH(&p->exprs->v);
    if (slot == NULL) {
        mt_expr_free(e);
        return mt_rule_nomem(r);
    }
    expr->e = *slot = e;
    return MT_OK;
}

static uint32_t source_bit(const char *s)
{
    int role = mt_role_find(s, strlen(s));
    if (role >= 0)
        return 1u << role;
    return strcmp(s, "states") == 0    ? MT_FIX_STATES
           : strcmp(s, "pass") == 0    ? MT_FIX_PASS
           : strcmp(s, "engine") == 0  ? MT_FIX_ENGINE
           : strcmp(s, "cache") == 0   ? MT_FIX_FROM_CACHE
           : strcmp(s, "pending") == 0 ? MT_FIX_FROM_PENDING
           : strcmp(s, "outside") == 0 ? MT_FIX_FROM_OUTSIDE
           : strcmp(s, "request") == 0 ? MT_FIX_FROM_REQUEST
           : strcmp(s, "grown") == 0   ? MT_FIX_FROM_GROWN
                                       : 0;
}

MT_RULE_GET(mt_fix_get_sources)
{
    const cJSON *c;
    char name[64];
    uint32_t n;
    enum mt_rc rc = mt_rule_count(r, f->name, v, &n);
    if (rc == MT_OK && n == 0)
        return mt_rule_bad(r, f->name,
                           "is empty; it says what the bytes are taken from: role ids, states, "
                           "pass, engine, cache, pending, outside, request, grown");
    *(uint32_t *)out = 0; /* a variant's own, in place of its rule's */
    cJSON_ArrayForEach(c, v)
    {
        const char *s = cJSON_IsString(c) ? c->valuestring : "...";
        uint32_t bit = source_bit(s);
        if (rc == MT_OK && bit == 0)
            return mt_rule_bad(r, f->name,
                               "\"%s\" is neither a role id nor states, pass, engine, cache, "
                               "pending, outside, request or grown",
                               mt_printable(name, sizeof name, s, strlen(s)));
        *(uint32_t *)out |= bit;
    }
    return rc;
}

#define AT(member) offsetof(struct mt_fix_saving, member)
static const char *const confidences[] = {"high", "medium", "low", NULL};
static const struct mt_rule_spec fields[] = {
    {"bytes", mt_fix_get_expr, AT(bytes), .is_needed = true},
    {"low", mt_fix_get_expr, .at = AT(low)},
    {"high", mt_fix_get_expr, .at = AT(high)},
    {"to_come", mt_fix_get_expr, .at = AT(to_come)},
    {"parted", mt_fix_get_expr, .at = AT(parted)},
    {"only_live", mt_get_flag, .at = AT(only_live)},
    {"confidence", mt_get_word, AT(conf), .is_needed = true, .more = confidences},
    {"from", mt_fix_get_sources, AT(from), .is_needed = true},
    {"note", mt_get_any_text, .at = AT(note)},
    {.name = NULL}};

MT_RULE_GET(mt_fix_get_saving)
{
    struct mt_fix_saving *s;
    enum mt_rc rc;
    *(const struct mt_fix_saving **)out = NULL;
    if (cJSON_IsNull(v)) /* a variant that has none, unlike its rule */
        return MT_OK;
    s = mt_arena_alloc(r->arena, sizeof *s, _Alignof(struct mt_fix_saving));
    if (s == NULL)
        return mt_rule_nomem(r);
    *s = (struct mt_fix_saving){.note = ""};
    rc = mt_rule_fields(r, v, fields, s);
    if (rc == MT_OK && s->bytes.e == NULL)
        rc = mt_rule_bad(r, "bytes", "is empty");
    if (rc != MT_OK)
        mt_err_context(r->err, "while reading \"%s\"", f->name);
    *(const struct mt_fix_saving **)out = s;
    return rc;
}
