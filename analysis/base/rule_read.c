#include "analysis/base/rule_read.h"

#include <stdarg.h>
#include <stdio.h>

/* What an overlay may have. Each of its lists is read by the loader that knows it. */
static const struct mt_rule_list overlay_lists[] = {
    {.name = "frameworks"}, {.name = "phases"},   {.name = "cut"},
    {.name = "roles"},      {.name = "settings"}, {.name = "vocabularies"},
    {.name = "metrics"},    {.name = "fixes"},    {.name = "order"},
    {.name = "libraries"},  {.name = "models"},   {.name = "unlike_parts"},
    {.name = "run_files"},  {.name = "cards"},    {.name = "makers"},
    {.name = "levers"},     {.name = "programs"}, {.name = NULL}};

/* ---- failures ---- */

enum mt_rc mt_rule_bad(const struct mt_rule_reader *r, const char *field, const char *fmt, ...)
{
    char text[940], where[200] = "", row[160], name[96];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (r->index != 0 && r->id != NULL)
        snprintf(where, sizeof where, "%s %s: ", r->kind,
                 mt_printable(row, sizeof row, r->id, strlen(r->id)));
    else if (r->index != 0)
        snprintf(where, sizeof where, "%s %u: ", r->kind, r->index);
    if (field == NULL)
        return mt_fail(r->err, MT_EINPUT, "%s: %s%s", r->file, where, text);
    return mt_fail(r->err, MT_EINPUT, "%s: %sfield \"%s\": %s", r->file, where,
                   mt_printable(name, sizeof name, field, strlen(field)), text);
}

enum mt_rc mt_rule_nomem(const struct mt_rule_reader *r)
{
    return mt_fail(r->err, MT_ENOMEM, "%s: out of memory while reading the rules", r->file);
}

/* ---- files ---- */

static enum mt_rc check_root(const struct mt_rule_reader *r, const cJSON *root,
                             const struct mt_rule_list *lists)
{
    const cJSON *v = mt_rule_field(root, "schema_version"), *c;
    uint32_t seen = 0;
    if (!cJSON_IsObject(root))
        return mt_rule_bad(r, NULL, "a rule file is an object with \"schema_version\" and rules");
    cJSON_ArrayForEach(c, root)
    {
        uint32_t k = 0;
        char known[200] = "", name[96];
        if (c == v)
            continue;
        while (lists[k].name != NULL && !mt_rule_same(lists[k].name, c->string))
            k++;
        if (lists[k].name != NULL && (seen >> k & 1) == 0) {
            seen |= 1u << k;
            continue;
        }
        for (k = 0; lists[k].name != NULL; k++)
            strcat(strcat(known, ", "), lists[k].name);
        return mt_rule_bad(r, NULL,
                           "unknown or repeated key \"%s\"; a rule file has schema_version%s",
                           mt_printable(name, sizeof name, c->string, strlen(c->string)), known);
    }
    if (!cJSON_IsNumber(v) || v->valuedouble < 1 || v->valuedouble > 1)
        return mt_rule_bad(r, NULL, "\"schema_version\" has to be 1: no other is read");
    return MT_OK;
}

enum mt_rc mt_rule_each(struct mt_rule_reader *r, const cJSON *list, const struct mt_rule_list *of)
{
    const cJSON *c;
    enum mt_rc rc = MT_OK;
    if (!cJSON_IsArray(list))
        return mt_rule_bad(r, NULL, "\"%s\" has to be a list", of->name);
    r->kind = of->kind;
    cJSON_ArrayForEach(c, list)
    {
        r->index++;
        r->id = of->id != NULL ? mt_rule_text_of(c, of->id) : NULL;
        rc = cJSON_IsObject(c) ? of->row(r, c) : mt_rule_bad(r, NULL, "is not an object");
        if (rc != MT_OK)
            break;
    }
    r->index = 0;
    r->id = NULL;
    return rc;
}

enum mt_rc mt_rule_read(struct mt_rule_reader *r, const cJSON *root,
                        const struct mt_rule_list *lists)
{
    enum mt_rc rc = check_root(r, root, r->is_overlay ? overlay_lists : lists);
    for (; rc == MT_OK && lists->name != NULL; lists++) {
        const cJSON *list = mt_rule_field(root, lists->name);
        if (lists->row != NULL && (list != NULL || !r->is_overlay))
            rc = mt_rule_each(r, list, lists);
    }
    return rc;
}

enum mt_rc mt_rule_builtin(struct mt_rule_reader *r, const char *name,
                           const struct mt_rule_list *lists)
{
    cJSON *root;
    enum mt_rc rc = mt_rule_json(name, &root, r->err);
    r->file = name;
    r->is_overlay = false;
    if (rc == MT_OK)
        rc = mt_rule_read(r, root, lists);
    mt_free(root);
    return rc;
}

enum mt_rc mt_rule_overlay(struct mt_rule_reader *r, const char *text, size_t n, const char *name,
                           const struct mt_rule_list *lists)
{
    cJSON *root = NULL;
    enum mt_rc rc = MT_OK;
    if (text == NULL)
        return MT_OK;
    r->file = name != NULL ? name : "the rule file";
    r->is_overlay = true;
    rc = mt_json_text(&root, text, n, r->file, r->err);
    if (rc == MT_OK)
        rc = mt_rule_read(r, root, lists);
    cJSON_Delete(root);
    return rc;
}

/* ---- fields ---- */

static enum mt_rc read_field(const struct mt_rule_reader *r, const struct mt_rule_spec *f,
                             const cJSON *v, void *out)
{
    if (f->get != NULL)
        return f->get(r, f, v, (char *)out + f->at);
    return cJSON_IsString(v) ? MT_OK : mt_rule_bad(r, f->name, "has to be a text");
}

static enum mt_rc unknown_field(const struct mt_rule_reader *r, const char *field,
                                const struct mt_rule_spec *specs)
{
    char known[480] = "";
    for (size_t n = 0; specs->name != NULL && n < sizeof known; n = strlen(known), specs++)
        (void)snprintf(known + n, sizeof known - n, "%s%s", n > 0 ? ", " : "", specs->name);
    return mt_rule_bad(r, field, "is not known; there are %s", known);
}

enum mt_rc mt_rule_fields(const struct mt_rule_reader *r, const cJSON *obj,
                          const struct mt_rule_spec *specs, void *out)
{
    uint64_t seen = 0;
    uint32_t k = 0;
    const cJSON *v;
    if (!cJSON_IsObject(obj))
        return mt_rule_bad(r, NULL, "is not an object");
    cJSON_ArrayForEach(v, obj)
    {
        enum mt_rc rc;
        uint32_t from = k; /* most objects have their fields in the order of the table */
        while (specs[k].name != NULL && !mt_rule_same(specs[k].name, v->string))
            k++;
        for (uint32_t i = 0; specs[k].name == NULL && i < from; i++)
            if (mt_rule_same(specs[i].name, v->string))
                k = i;
        if (specs[k].name == NULL)
            return unknown_field(r, v->string, specs);
        if ((seen >> k & 1) != 0)
            return mt_rule_bad(r, v->string, "is there twice");
        seen |= UINT64_C(1) << k;
        rc = read_field(r, &specs[k++], v, out);
        if (rc != MT_OK)
            return rc;
    }
    for (k = 0; specs[k].name != NULL; k++)
        if (specs[k].is_needed && (seen >> k & 1) == 0)
            return mt_rule_bad(r, specs[k].name, "is missing");
    return MT_OK;
}

const char *mt_rule_keep(const struct mt_rule_reader *r, const char *s)
{
    return r->is_overlay ? mt_arena_strndup(r->arena, s, strlen(s)) : s;
}

int mt_rule_word_find(const char *const *words, const char *s)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], s) == 0)
            return i;
    return -1;
}

/* Reports show the text of a rule as it is. Those that are built in are not looked at: a test
 * does. */
static bool is_plain(const struct mt_rule_reader *r, const char *s)
{
    while (r->is_overlay && (unsigned char)*s >= 0x20 && *s != 0x7f)
        s++;
    return !r->is_overlay || *s == '\0';
}

MT_RULE_GET(mt_get_any_text)
{
    if (!cJSON_IsString(v))
        return mt_rule_bad(r, f->name, "has to be a text");
    if (!is_plain(r, v->valuestring))
        return mt_rule_bad(r, f->name, "has a control character; write one line of plain text");
    *(const char **)out = mt_rule_keep(r, v->valuestring);
    return *(const char **)out != NULL ? MT_OK : mt_rule_nomem(r);
}

MT_RULE_GET(mt_get_text)
{
    if (cJSON_IsString(v) && v->valuestring[0] == '\0')
        return mt_rule_bad(r, f->name, "is empty");
    return mt_get_any_text(r, f, v, out);
}

MT_RULE_GET(mt_get_flag)
{
    *(bool *)out = cJSON_IsTrue(v);
    return cJSON_IsBool(v) ? MT_OK : mt_rule_bad(r, f->name, "has to be true or false");
}

MT_RULE_GET(mt_get_letter)
{
    const char *s = cJSON_GetStringValue(v);
    char known[64] = "";
    size_t n = 0;
    if (s != NULL && s[0] != '\0' && s[1] == '\0' && strchr(f->more, s[0]) != NULL) {
        *(char *)out = s[0];
        return MT_OK;
    }
    for (const char *c = f->more; *c != '\0' && n + 4 < sizeof known; c++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%c", n > 0 ? ", " : "", *c);
    return mt_rule_bad(r, f->name, "has to be one of %s", known);
}

MT_RULE_GET(mt_get_word)
{
    const char *const *words = f->more;
    const char *s = cJSON_GetStringValue(v);
    char known[240] = "", name[64];
    int k = s != NULL ? mt_rule_word_find(words, s) : -1;
    if (k >= 0) {
        *(int *)out = k;
        return MT_OK;
    }
    if (words[1] == NULL)
        return mt_rule_bad(r, f->name, "has to be \"%s\"", words[0]);
    for (size_t n = 0; *words != NULL && n < sizeof known; n = strlen(known), words++)
        (void)snprintf(known + n, sizeof known - n, "%s%s", n > 0 ? ", " : "", *words);
    if (s == NULL)
        return mt_rule_bad(r, f->name, "has to be one of %s", known);
    return mt_rule_bad(r, f->name, "\"%s\" is not one of %s",
                       mt_printable(name, sizeof name, s, strlen(s)), known);
}

enum mt_rc mt_rule_count(const struct mt_rule_reader *r, const char *field, const cJSON *list,
                         uint32_t *n)
{
    enum { MAX_ITEMS = 256 };
    const cJSON *c;
    *n = 0;
    if (!cJSON_IsArray(list))
        return mt_rule_bad(r, field, "has to be a list");
    cJSON_ArrayForEach(c, list)++ *n;
    if (*n > MAX_ITEMS)
        return mt_rule_bad(r, field, "has %u entries; at most %d are read", (unsigned)*n,
                           MAX_ITEMS);
    return MT_OK;
}

MT_RULE_GET(mt_get_bits)
{
    const cJSON *c;
    uint32_t bits = 0, n;
    int k = 0;
    enum mt_rc rc = mt_rule_count(r, f->name, v, &n);
    cJSON_ArrayForEach(c, v)
    {
        if (rc == MT_OK)
            rc = mt_get_word(r, f, c, &k);
        bits |= 1u << k;
    }
    *(uint32_t *)out = bits;
    return rc;
}

/* The number of entries is in the same struct as the list. */
static void keep_count(const struct mt_rule_spec *f, void *out, uint32_t n)
{
    if (f->count_at != 0)
        *(uint32_t *)(void *)((char *)out - f->at + f->count_at) = n;
}

MT_RULE_GET(mt_get_texts)
{
    const char **texts;
    const cJSON *c;
    uint32_t n;
    enum mt_rc rc = mt_rule_count(r, f->name, v, &n);
    if (rc != MT_OK)
        return rc;
    texts = mt_arena_alloc(r->arena, (n + 1) * sizeof *texts, _Alignof(const char *));
    if (texts == NULL)
        return mt_rule_nomem(r);
    *(const char *const **)out = texts;
    keep_count(f, out, n);
    cJSON_ArrayForEach(c, v)
    {
        if (rc == MT_OK)
            rc = mt_get_text(r, f, c, texts++);
    }
    *texts = NULL;
    return rc;
}

MT_RULE_GET(mt_get_object)
{
    enum mt_rc rc = mt_rule_fields(r, v, f->more, out);
    if (rc != MT_OK)
        mt_err_context(r->err, "while reading \"%s\"", f->name);
    return rc;
}

MT_RULE_GET(mt_get_rows)
{
    const struct mt_rule_rows *of = f->more;
    const cJSON *c;
    uint32_t n, i = 0;
    char *row;
    enum mt_rc rc = mt_rule_count(r, f->name, v, &n);
    if (rc != MT_OK)
        return rc;
    row = mt_arena_alloc(r->arena, (n + 1) * of->size, _Alignof(max_align_t));
    if (row == NULL)
        return mt_rule_nomem(r);
    memset(row, 0, (n + 1) * of->size);
    *(void **)out = row;
    keep_count(f, out, n);
    cJSON_ArrayForEach(c, v)
    {
        i++;
        memcpy(row, of->blank, of->size);
        rc = mt_rule_fields(r, c, of->specs, row);
        if (rc == MT_OK && of->done != NULL)
            rc = of->done(r, f->name, row);
        if (rc != MT_OK) {
            mt_err_context(r->err, "while reading entry %u of \"%s\"", (unsigned)i, f->name);
            break;
        }
        row += of->size;
    }
    return rc;
}

enum mt_rc mt_rule_size(size_t n, const char *name, struct mt_err *err)
{
    if (n <= (size_t)8 << 20) /* a rule file is small; a snapshot given by mistake is not */
        return MT_OK;
    return mt_fail(err, MT_ELIMIT,
                   "%s: is larger than a rule file can be; give a JSON file with \"fixes\" or "
                   "\"phases\"",
                   name != NULL ? name : "the rule file");
}
