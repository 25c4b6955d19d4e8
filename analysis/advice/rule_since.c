/* advice/rule_since.c -- which PyTorch first had what a line types. An older one stops at it: no
 * such line is offered where a text tells that its PyTorch is older. */
#include "analysis/advice/rule_parse.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct mt_fix_came, member)
static const struct mt_rule_spec fields[] = {{"name", mt_get_text, AT(name), .is_needed = true},
                                             {"since", mt_get_text, AT(version), .is_needed = true},
                                             {"source", NULL, .at = 0},
                                             {.name = NULL}};
#undef AT

/* "1.11" is 111, as in metrics.def, torch_at_most. */
static uint32_t as_number(const char *version)
{
    char *dot;
    unsigned long major = strtoul(version, &dot, 10);
    return *dot == '.' && major < 100 ? (uint32_t)(100 * major + strtoul(dot + 1, NULL, 10) % 100)
                                      : 0;
}

enum mt_rc mt_fix_add_came(struct mt_rule_reader *r, const cJSON *obj)
{
    struct mt_fix_parse *p = r->of;
    struct mt_fix_came came = {.name = NULL};
    enum mt_rc rc = mt_rule_fields(r, obj, fields, &came);
    struct mt_fix_came *slot = rc == MT_OK ? MT_VEC_PUSH(&p->came) : NULL;
    if (rc != MT_OK)
        return rc;
    if (slot == NULL)
        return mt_rule_nomem(r);
    came.since = as_number(came.version);
    *slot = came;
    return came.since != 0 ? MT_OK : mt_rule_bad(r, "since", "is no version such as 2.1");
}

uint32_t mt_fix_since(const struct mt_fix_parse *p, const char *value)
{
    uint32_t since = 0;
    for (uint32_t i = 0; i < p->came.n; i++)
        if (p->came.p[i].since > since && strstr(value, p->came.p[i].name) != NULL)
            since = p->came.p[i].since;
    return since;
}
