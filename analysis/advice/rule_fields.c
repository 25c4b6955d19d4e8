/* advice/rule_fields.c -- strict reading of rule files: whoever writes a rule learns the file, the
 * rule and the field that is wrong. */
#include "analysis/advice/rule_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_ITEMS                                                                                  \
    256 /* of any list inside a rule: keeps counts small and typing errors visible                 \
         */

enum mt_rc mt_fix_bad(const struct mt_fix_parse *p, const char *field, const char *fmt, ...)
{
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (field == NULL)
        return mt_fail(p->err, MT_EINPUT, "%s: %s: %s", p->file, p->where, text);
    return mt_fail(p->err, MT_EINPUT, "%s: %s: field \"%s\": %s", p->file, p->where, field, text);
}

enum mt_rc mt_fix_nomem(const struct mt_fix_parse *p)
{
    return mt_fail(p->err, MT_ENOMEM, "%s: %s: out of memory", p->file, p->where);
}

enum mt_rc mt_fix_check_fields(const struct mt_fix_parse *p, const cJSON *obj,
                               const char *const *known)
{
    uint64_t seen = 0;
    const cJSON *c;
    char name[64];

    if (!cJSON_IsObject(obj))
        return mt_fix_bad(p, NULL, "an object in braces is expected here");
    cJSON_ArrayForEach(c, obj)
    {
        unsigned i = 0;
        while (known[i] != NULL && !mt_rule_same(known[i], c->string))
            i++;
        if (known[i] == NULL || (seen >> i & 1) != 0)
            return mt_fix_bad(
                p, mt_printable(name, sizeof name, c->string, strlen(c->string)),
                known[i] == NULL
                    ? "no such field; check the spelling against the description of rule files"
                    : "stands twice");
        seen |= 1ull << i;
    }
    return MT_OK;
}

/* The report shows rule text as it is: one line, nothing unprintable. */
static bool is_clean(const char *s)
{
    for (; *s != 0; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    }
    return true;
}

const char *mt_fix_keep(const struct mt_fix_parse *p, const cJSON *string)
{
    const char *s = string->valuestring;
    return p->lasting ? s : mt_arena_strndup(p->arena, s, strlen(s));
}

static enum mt_rc copy(const struct mt_fix_parse *p, const char *field, const cJSON *v,
                       bool may_be_empty, const char **out)
{
    if (!cJSON_IsString(v))
        return mt_fix_bad(p, field, "a text in quotes is expected");
    if (!is_clean(v->valuestring))
        return mt_fix_bad(p, field, "holds a control character; write one line of plain text");
    if (!may_be_empty && v->valuestring[0] == 0)
        return mt_fix_bad(p, field, "is empty");
    *out = mt_fix_keep(p, v);
    return *out == NULL ? mt_fix_nomem(p) : MT_OK;
}

/* An absent optional text leaves *out alone. */
enum mt_rc mt_fix_get_text(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           enum mt_fix_need need, const char **out)
{
    const cJSON *v = mt_rule_field(obj, field);
    if (v == NULL)
        return need == MT_FIX_OPTIONAL ? MT_OK : mt_fix_bad(p, field, "is missing");
    return copy(p, field, v, need == MT_FIX_MAY_BE_EMPTY, out);
}

/* The list at `field`, or NULL in *out when it is absent and optional. */
enum mt_rc mt_fix_get_list(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           bool required, const cJSON **out, uint32_t *n)
{
    const cJSON *v = mt_rule_field(obj, field), *c;
    *out = v;
    *n = 0;
    if (v == NULL)
        return required ? mt_fix_bad(p, field, "is missing") : MT_OK;
    if (!cJSON_IsArray(v))
        return mt_fix_bad(p, field, "a list in brackets is expected");
    cJSON_ArrayForEach(c, v)++ *n;
    if (*n > MAX_ITEMS)
        return mt_fix_bad(p, field, "has %u entries; at most %d are read", (unsigned)*n, MAX_ITEMS);
    return MT_OK;
}

uint64_t mt_fix_class_bit(const char *s)
{
    int c = mt_fix_class_find(s);
    if (c >= 0)
        return 1ull << c;
    /* "all" is every place on the GPU: host memory and the quality of the trace have remedies of
     * their own. */
    if (strcmp(s, "all") == 0)
        return ((1ull << MT_FIX_CLASS_COUNT) - 1) & ~(1ull << MT_FIX_HOST_MEMORY) &
               ~(1ull << MT_FIX_CAPTURE);
    return 0;
}

enum mt_rc mt_fix_framework(const struct mt_fix_parse *p, const char *id, const char *field,
                            uint64_t *bit)
{
    int f = mt_framework_find(p->fw, id);
    char name[64], ids[560];
    if (f <= MT_FW_NONE)
        return mt_fix_bad(
            p, field,
            "\"%s\" is not a framework, library or component (a row in \"frameworks\" "
            "adds one); there are %s",
            mt_printable(name, sizeof name, id, strlen(id)),
            mt_framework_ids(p->fw, false, ids, sizeof ids));
    *bit = MT_FW_BIT(f);
    return MT_OK;
}

enum mt_rc mt_fix_get_frameworks(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                                 bool required, uint64_t *out)
{
    const cJSON *list, *c;
    uint32_t n;
    enum mt_rc rc = mt_fix_get_list(p, obj, field, required, &list, &n);
    *out = 0;
    if (rc == MT_OK && list != NULL && n == 0)
        return mt_fix_bad(p, field, "is empty");
    cJSON_ArrayForEach(c, list)
    {
        uint64_t bit = 0;
        if (rc == MT_OK && !cJSON_IsString(c))
            rc = mt_fix_bad(p, field, "a list of texts is expected");
        if (rc == MT_OK)
            rc = mt_fix_framework(p, c->valuestring, field, &bit);
        *out |= bit;
    }
    return rc;
}

enum mt_rc mt_fix_get_mask(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           bool required, mt_fix_bit bit, const char *what, uint64_t *out)
{
    const cJSON *list, *c;
    char name[64];
    uint32_t n;
    enum mt_rc rc = mt_fix_get_list(p, obj, field, required, &list, &n);
    *out = 0;
    if (rc != MT_OK || list == NULL)
        return rc;
    if (n == 0)
        return mt_fix_bad(p, field, "is empty");
    cJSON_ArrayForEach(c, list)
    {
        uint64_t b;
        if (!cJSON_IsString(c))
            return mt_fix_bad(p, field, "a list of texts is expected");
        b = bit(c->valuestring);
        if (b == 0)
            return mt_fix_bad(
                p, field, "\"%s\" is not %s",
                mt_printable(name, sizeof name, c->valuestring, strlen(c->valuestring)), what);
        *out |= b;
    }
    return MT_OK;
}

enum mt_rc mt_fix_get_word(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           const char *const *words, int *out)
{
    const cJSON *v = mt_rule_field(obj, field);
    char name[64], known[160];
    size_t n = 0;
    if (v == NULL)
        return mt_fix_bad(p, field, "is missing");
    if (!cJSON_IsString(v))
        return mt_fix_bad(p, field, "a text in quotes is expected");
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], v->valuestring) == 0) {
            *out = i;
            return MT_OK;
        }
    }
    known[0] = 0;
    for (int i = 0; words[i] != NULL && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i > 0 ? ", " : "", words[i]);
    return mt_fix_bad(p, field, "\"%s\" is not one of %s",
                      mt_printable(name, sizeof name, v->valuestring, strlen(v->valuestring)),
                      known);
}

/* A list of plain texts. */
enum mt_rc mt_fix_get_texts(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                            const char *const **out, uint32_t *n)
{
    const cJSON *list, *c;
    const char **a;
    uint32_t i = 0;
    enum mt_rc rc = mt_fix_get_list(p, obj, field, false, &list, n);
    if (rc != MT_OK || *n == 0)
        return rc;
    a = mt_arena_alloc(p->arena, *n * sizeof *a, _Alignof(const char *));
    if (a == NULL)
        return mt_fix_nomem(p);
    cJSON_ArrayForEach(c, list)
    {
        rc = copy(p, field, c, false, &a[i++]);
        if (rc != MT_OK)
            return rc;
    }
    *out = a;
    return MT_OK;
}

/* A list of {a, b}; b may be left out when `b_optional`. */
enum mt_rc mt_fix_get_pairs(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                            const char *a, const char *b, bool b_optional,
                            const struct mt_fix_pair **out, uint32_t *n)
{
    const char *const known[] = {a, b, NULL};
    const cJSON *list, *c;
    struct mt_fix_pair *v;
    uint32_t i = 0;
    enum mt_rc rc = mt_fix_get_list(p, obj, field, false, &list, n);
    if (rc != MT_OK || *n == 0)
        return rc;
    v = mt_arena_alloc(p->arena, *n * sizeof *v, _Alignof(struct mt_fix_pair));
    if (v == NULL)
        return mt_fix_nomem(p);
    cJSON_ArrayForEach(c, list)
    {
        v[i].a = v[i].b = "";
        rc = mt_fix_check_fields(p, c, known);
        if (rc == MT_OK)
            rc = mt_fix_get_text(p, c, a, MT_FIX_REQUIRED, &v[i].a);
        if (rc == MT_OK)
            rc = mt_fix_get_text(p, c, b, b_optional ? MT_FIX_OPTIONAL : MT_FIX_REQUIRED, &v[i].b);
        if (rc != MT_OK) {
            mt_err_context(p->err, "while reading \"%s\"", field);
            return rc;
        }
        i++;
    }
    *out = v;
    return MT_OK;
}

enum mt_rc mt_fix_check_file(const struct mt_fix_parse *p, const cJSON *root,
                             const char *const *known)
{
    const cJSON *v = mt_rule_field(root, "schema_version");
    enum mt_rc rc = mt_fix_check_fields(p, root, known);
    if (rc == MT_OK && (!cJSON_IsNumber(v) || v->valuedouble < 1 || v->valuedouble > 1))
        rc = mt_fix_bad(p, "schema_version", "must be 1: this version of memtrace reads no other");
    return rc;
}
