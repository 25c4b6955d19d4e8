/* advice/rule_fields.c -- fields that rules and their lines share. */
#include "analysis/advice/rule_parse.h"

#include <string.h>

const char *const mt_fix_ways[] = {"", "down", "up", NULL};
const char *mt_fix_way_name(enum mt_fix_way w) { return mt_fix_ways[w]; }

MT_RULE_GET(mt_fix_get_classes)
{
    /* "all" is every place on the GPU: host memory and the quality of the trace have remedies of
     * their own. */
    const uint32_t all =
        ((1u << MT_FIX_CLASS_COUNT) - 1) & ~(1u << MT_FIX_HOST_MEMORY) & ~(1u << MT_FIX_CAPTURE);
    const cJSON *c;
    uint32_t n, mask = 0;
    char name[64];
    enum mt_rc rc = mt_rule_count(r, f->name, v, &n);
    if (rc == MT_OK && n == 0)
        return mt_rule_bad(r, f->name, "is empty");
    cJSON_ArrayForEach(c, v)
    {
        const char *s = cJSON_IsString(c) ? c->valuestring : "...";
        int class = mt_fix_class_find(s);
        if (rc == MT_OK && class < 0 && strcmp(s, "all") != 0)
            return mt_rule_bad(r, f->name, "\"%s\" is not a phase class",
                               mt_printable(name, sizeof name, s, strlen(s)));
        mask |= class >= 0 ? 1u << class : all;
    }
    *(uint32_t *)out = mask;
    return rc;
}

static const struct mt_rule_spec fields[] = {
    {"file", mt_get_text, offsetof(struct mt_fix_pair, a), .is_needed = true},
    {"function", mt_get_text, .at = offsetof(struct mt_fix_pair, b)},
    {.name = NULL}};
static const struct mt_fix_pair blank = {"", ""};
const struct mt_rule_rows mt_fix_frame_rows = {fields, sizeof blank, &blank, NULL};
