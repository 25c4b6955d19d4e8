/* setup/rows.c -- the rows of frameworks.json and of an overlay, read strictly: a misspelt field
 * would otherwise be knowledge that silently is not there. */
#include "analysis/base/rule_json.h"
#include "analysis/setup/framework.h"
#include "parser/base/json_text.h"

#include <stdio.h>

struct mt_framework_rules {
    struct mt_arena arena;
    cJSON *overlay; /* NULL = none */
    const char *overlay_name;
    struct mt_framework row[MT_FW_MAX];
    int n;
    uint64_t kind[MT_FWK_COUNT];
    uint64_t family[MT_FW_MAX + 1];
    mt_fw plain;
    const char *log_packages[MT_FW_MAX];
};

/* One file that is being read. */
struct file {
    struct mt_framework_rules *r;
    const char *name, *row; /* for messages */
    struct mt_err *err;
};

static const char *const kinds[] = {"rl", "tuner", "trainer", "engine", "backend", "library", NULL};
static const char *const parts[] = {"fsdp1",         "fsdp2",    "ddp",          "core", "zero",
                                    "checkpointing", "compiled", "chunked_loss", NULL};
static const char *const traits[] = {"plain",          "log_files",
                                     "passes_in_step", "set_up_in_step",
                                     "log_probs",      "offloads_between_phases",
                                     "fsdp_alone",     "own_expert_tp",
                                     "keeps_32bit",    NULL};
static const char *const no_texts[] = {NULL};

static enum mt_rc bad(const struct file *f, const char *field, const char *what)
{
    char row[96], name[96];
    mt_printable(row, sizeof row, f->row, strlen(f->row));
    mt_printable(name, sizeof name, field, strlen(field));
    return mt_fail(f->err, MT_EINPUT, "%s: framework %s: field \"%s\" %s", f->name, row, name,
                   what);
}

static enum mt_rc nomem(const struct file *f)
{
    return mt_fail(f->err, MT_ENOMEM, "%s: out of memory while reading the frameworks", f->name);
}

/* One of `words`, which end with NULL; -1 = none of them. */
static int word_of(const char *const *words, const char *s)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], s) == 0)
            return i;
    return -1;
}

static enum mt_rc get_text(const struct file *f, const char *field, const cJSON *v, void *out)
{
    if (!cJSON_IsString(v) || v->valuestring[0] == '\0')
        return bad(f, field, "has to be a text that is not empty");
    *(const char **)out = mt_arena_strndup(&f->r->arena, v->valuestring, strlen(v->valuestring));
    return *(const char **)out != NULL ? MT_OK : nomem(f);
}

static enum mt_rc get_texts(const struct file *f, const char *field, const cJSON *list, void *out)
{
    const char **texts;
    const cJSON *v;
    size_t n = 0;
    enum mt_rc rc = MT_OK;
    if (!cJSON_IsArray(list))
        return bad(f, field, "has to be a list of texts");
    cJSON_ArrayForEach(v, list) n++;
    texts = mt_arena_alloc(&f->r->arena, (n + 1) * sizeof *texts, _Alignof(const char *));
    if (texts == NULL)
        return nomem(f);
    n = 0;
    cJSON_ArrayForEach(v, list)
    {
        if (rc == MT_OK)
            rc = get_text(f, field, v, &texts[n++]);
    }
    texts[n] = NULL;
    *(const char *const **)out = texts;
    return rc;
}

static enum mt_rc get_kind(const struct file *f, const char *field, const cJSON *v, void *out)
{
    int k = cJSON_IsString(v) ? word_of(kinds, v->valuestring) : -1;
    if (k < 0)
        return bad(f, field, "has to be rl, tuner, trainer, engine, backend or library");
    *(enum mt_fw_kind *)out = (enum mt_fw_kind)k;
    return MT_OK;
}

/* A list of words as bits, the first word being 1. */
static enum mt_rc get_bits(const struct file *f, const char *field, const cJSON *list,
                           const char *const *words, void *out)
{
    uint32_t bits = 0;
    const cJSON *v;
    if (!cJSON_IsArray(list))
        return bad(f, field, "has to be a list of words");
    cJSON_ArrayForEach(v, list)
    {
        int k = cJSON_IsString(v) ? word_of(words, v->valuestring) : -1;
        if (k < 0)
            return bad(f, field, "has a word that is not known; docs/rules-frameworks.md has them");
        bits |= 1u << k;
    }
    *(uint32_t *)out = bits;
    return MT_OK;
}
static enum mt_rc get_parts(const struct file *f, const char *field, const cJSON *v, void *out)
{
    return get_bits(f, field, v, parts, out);
}
static enum mt_rc get_traits(const struct file *f, const char *field, const cJSON *v, void *out)
{
    return get_bits(f, field, v, traits, out);
}

static enum mt_rc get_name(const struct file *f, const char *field, const cJSON *v, void *out)
{
    int i = cJSON_IsString(v) ? mt_framework_find(f->r, v->valuestring) : -1;
    char ids[MT_ERR_MSG], what[MT_ERR_MSG];
    if (i <= MT_FW_NONE) {
        snprintf(what, sizeof what, "names no framework; there are %s",
                 mt_framework_ids(f->r, false, ids, sizeof ids));
        return bad(f, field, what);
    }
    *(mt_fw *)out = (mt_fw)i;
    return MT_OK;
}

static enum mt_rc get_names(const struct file *f, const char *field, const cJSON *list, void *out)
{
    uint64_t mask = 0;
    const cJSON *v;
    if (!cJSON_IsArray(list))
        return bad(f, field, "has to be a list of frameworks");
    cJSON_ArrayForEach(v, list)
    {
        mt_fw one = MT_FW_NONE;
        enum mt_rc rc = get_name(f, field, v, &one);
        if (rc != MT_OK)
            return rc;
        mask |= MT_FW_BIT(one);
    }
    *(uint64_t *)out = mask;
    return MT_OK;
}

struct field {
    const char *name;
    enum mt_rc (*get)(const struct file *f, const char *field, const cJSON *v, void *out);
    size_t at; /* in the struct; SIZE_MAX = for readers only */
};

/* Fills the struct at `out` from the fields of an object. */
static enum mt_rc get_fields(const struct file *f, const cJSON *obj, const struct field *fields,
                             void *out)
{
    uint32_t seen = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, obj)
    {
        uint32_t k = 0;
        enum mt_rc rc;
        while (fields[k].name != NULL && strcmp(fields[k].name, v->string) != 0)
            k++;
        if (fields[k].name == NULL)
            return bad(f, v->string, "is not known; docs/rules-frameworks.md lists the fields");
        if ((seen >> k & 1) != 0)
            return bad(f, v->string, "is there twice");
        seen |= 1u << k;
        rc = fields[k].at != SIZE_MAX ? fields[k].get(f, v->string, v, (char *)out + fields[k].at)
                                      : MT_OK;
        if (rc != MT_OK)
            return rc;
    }
    return MT_OK;
}

/* A list of objects as structs of `size`, behind the last one a zeroed one. */
static enum mt_rc get_objects(const struct file *f, const char *field, const cJSON *list,
                              const struct field *fields, size_t size, const void *blank, void *out)
{
    const cJSON *v;
    size_t n = 0;
    enum mt_rc rc = MT_OK;
    char *rows;
    if (!cJSON_IsArray(list))
        return bad(f, field, "has to be a list of objects");
    cJSON_ArrayForEach(v, list) n++;
    rows = mt_arena_alloc(&f->r->arena, (n + 1) * size, _Alignof(max_align_t));
    if (rows == NULL)
        return nomem(f);
    memset(rows, 0, (n + 1) * size);
    n = 0;
    cJSON_ArrayForEach(v, list)
    {
        memcpy(rows + n * size, blank, size);
        if (rc == MT_OK && !cJSON_IsObject(v))
            rc = bad(f, field, "has to be a list of objects");
        if (rc == MT_OK)
            rc = get_fields(f, v, fields, rows + n++ * size);
    }
    *(void **)out = rows;
    return rc;
}

static enum mt_rc get_packages(const struct file *f, const char *field, const cJSON *v, void *out)
{
    static const struct field fields[] = {
        {"name", get_text, offsetof(struct mt_fw_package, name)},
        {"inside", get_texts, offsetof(struct mt_fw_package, inside)},
        {NULL, NULL, 0}};
    static const struct mt_fw_package blank = {NULL, no_texts};
    return get_objects(f, field, v, fields, sizeof blank, &blank, out);
}

static enum mt_rc get_frames(const struct file *f, const char *field, const cJSON *v, void *out)
{
    static const struct field fields[] = {
        {"parts", get_parts, offsetof(struct mt_fw_frame, parts)},
        {"file", get_text, offsetof(struct mt_fw_frame, file)},
        {"functions", get_texts, offsetof(struct mt_fw_frame, functions)},
        {NULL, NULL, 0}};
    static const struct mt_fw_frame blank = {0, NULL, no_texts};
    return get_objects(f, field, v, fields, sizeof blank, &blank, out);
}

#define AT(member) offsetof(struct mt_framework, member)
static const struct field row_fields[] = {
    {"id", NULL, SIZE_MAX},
    {"note", NULL, SIZE_MAX},
    {"words", get_text, AT(words)},
    {"kind", get_kind, AT(kind)},
    {"packages", get_packages, AT(packages)},
    {"frames", get_frames, AT(frames)},
    {"runs_in", get_texts, AT(runs_in)},
    {"not_in", get_texts, AT(not_in)},
    {"processes", get_texts, AT(processes)},
    {"log_lines", get_texts, AT(log_lines)},
    {"allocators", get_texts, AT(allocators)},
    {"in_log_files", get_text, AT(in_log_files)},
    {"one_of", get_text, AT(one_of)},
    {"shards_with", get_text, AT(shards_with)},
    {"host_params", get_text, AT(host_params)},
    {"lora_targets", get_text, AT(lora_targets)},
    {"lora_targets_core", get_text, AT(lora_targets_core)},
    {"drives", get_names, AT(drives)},
    {"order_as", get_name, AT(order_as)},
    {"same_as", get_name, AT(same_as)},
    {"settings_of", get_name, AT(settings_of)},
    {"engine", get_name, AT(engine)},
    {"parts", get_parts, AT(parts)},
    {"shows", get_parts, AT(shows)},
    {"traits", get_traits, AT(traits)},
    {NULL, NULL, 0},
};

static const struct mt_fw_package no_packages[] = {{NULL, NULL}};
static const struct mt_fw_frame no_frames[] = {{0, NULL, NULL}};
static const struct mt_framework blank_row = {.id = "none",
                                              .words = "plain PyTorch",
                                              .kind = MT_FWK_COUNT,
                                              .packages = no_packages,
                                              .frames = no_frames,
                                              .runs_in = no_texts,
                                              .not_in = no_texts,
                                              .processes = no_texts,
                                              .log_lines = no_texts,
                                              .allocators = no_texts,
                                              .in_log_files = "",
                                              .one_of = "",
                                              .shards_with = "",
                                              .host_params = "",
                                              .lora_targets = "",
                                              .lora_targets_core = ""};

static bool is_id(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n > 0 && n < 40 && s[n] == '\0';
}

/* The row gets its index, so that other rows may name it. */
static enum mt_rc add_id(struct file *f, const cJSON *obj, uint64_t *of_file)
{
    const cJSON *id = mt_rule_field(obj, "id");
    const char *s = cJSON_GetStringValue(id);
    int at;
    f->row = s != NULL ? s : "?";
    if (s == NULL || !is_id(s))
        return bad(f, "id", "has to be a text of small letters, digits and '_'");
    at = mt_framework_find(f->r, s);
    if (at == MT_FW_NONE || (at > 0 && (*of_file & MT_FW_BIT(at)) != 0))
        return bad(f, "id", "stands twice; every framework has an id of its own");
    if (at < 0 && f->r->n == MT_FW_MAX)
        return bad(f, "id", "is one too many: there are 63 frameworks at most");
    if (at < 0)
        at = f->r->n++;
    f->r->row[at] = blank_row;
    *of_file |= MT_FW_BIT(at);
    return get_text(f, "id", id, &f->r->row[at].id);
}

static enum mt_rc read_row(struct file *f, const cJSON *obj)
{
    struct mt_framework *row;
    enum mt_rc rc;
    f->row = cJSON_GetStringValue(mt_rule_field(obj, "id"));
    row = &f->r->row[mt_framework_find(f->r, f->row)];
    rc = get_fields(f, obj, row_fields, row);
    if (rc == MT_OK && (mt_rule_field(obj, "words") == NULL || row->kind == MT_FWK_COUNT))
        rc = bad(f, row->kind == MT_FWK_COUNT ? "kind" : "words", "is missing");
    for (size_t i = 0; rc == MT_OK && row->packages[i].inside != NULL; i++)
        if (row->packages[i].name == NULL)
            rc = bad(f, "packages", "has one without a name");
    for (size_t i = 0; rc == MT_OK && row->frames[i].functions != NULL; i++)
        if (row->frames[i].file == NULL)
            rc = bad(f, "frames", "has one without a file");
    return rc;
}

static enum mt_rc read_list(struct file *f, const cJSON *list)
{
    uint64_t of_file = 0;
    const cJSON *v;
    enum mt_rc rc = MT_OK;
    if (!cJSON_IsArray(list))
        return mt_fail(f->err, MT_EINPUT, "%s: \"frameworks\" has to be a list of rows", f->name);
    cJSON_ArrayForEach(v, list)
    {
        if (rc == MT_OK)
            rc = add_id(f, v, &of_file);
    }
    cJSON_ArrayForEach(v, list)
    {
        if (rc == MT_OK)
            rc = read_row(f, v);
    }
    return rc;
}

/* What is asked of all rows at once. */
static void sum_up(struct mt_framework_rules *r)
{
    int n_families = 0, n_packages = 0;
    memset(r->kind, 0, sizeof r->kind);
    for (int i = 1; i < r->n; i++) {
        const struct mt_framework *row = &r->row[i];
        uint64_t family = 0;
        r->kind[row->kind] |= MT_FW_BIT(i);
        for (const struct mt_fw_package *p = row->packages;
             (row->traits & MT_FWT_LOG_FILES) != 0 && p->name != NULL && n_packages < MT_FW_MAX - 1;
             p++)
            r->log_packages[n_packages++] = p->name;
        if ((row->traits & MT_FWT_PLAIN) != 0)
            r->plain = (mt_fw)i;
        for (int k = 1; row->one_of[0] != '\0' && k < r->n; k++)
            if (strcmp(r->row[k].one_of, row->one_of) == 0)
                family |= MT_FW_BIT(k);
        if (family != 0 && (family & (MT_FW_BIT(i) - 1)) == 0) /* once, by its first row */
            r->family[n_families++] = family;
    }
    r->family[n_families] = 0;
}

enum mt_rc mt_framework_rules_load(struct mt_framework_rules **out, const char *overlay,
                                   size_t overlay_len, const char *overlay_name, struct mt_err *err)
{
    struct mt_framework_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {r, "the built-in frameworks.json", "?", err};
    cJSON *root = NULL;
    enum mt_rc rc;
    *out = NULL;
    if (r == NULL)
        return nomem(&f);
    r->row[r->n++] = blank_row;
    rc = mt_rule_json("frameworks.json", &root, err);
    if (rc == MT_OK)
        rc = read_list(&f, mt_rule_field(root, "frameworks"));
    mt_free(root);
    if (rc == MT_OK && overlay != NULL) {
        f.name = overlay_name != NULL ? overlay_name : "the rule file";
        r->overlay_name = mt_arena_strndup(&r->arena, f.name, strlen(f.name));
        rc = r->overlay_name != NULL ? mt_json_text(&r->overlay, overlay, overlay_len, f.name, err)
                                     : nomem(&f);
        if (rc == MT_OK && mt_rule_field(r->overlay, "frameworks") != NULL)
            rc = read_list(&f, mt_rule_field(r->overlay, "frameworks"));
    }
    if (rc != MT_OK) {
        mt_framework_rules_free(r);
        return rc;
    }
    sum_up(r);
    *out = r;
    return MT_OK;
}

void mt_framework_rules_free(struct mt_framework_rules *r)
{
    if (r == NULL)
        return;
    cJSON_Delete(r->overlay);
    mt_arena_done(&r->arena);
    mt_free(r);
}

const cJSON *mt_framework_overlay(const struct mt_framework_rules *r, const char *key,
                                  const char **name)
{
    *name = r != NULL && r->overlay_name != NULL ? r->overlay_name : "";
    return r != NULL ? mt_rule_field(r->overlay, key) : NULL;
}

int mt_framework_count(const struct mt_framework_rules *r) { return r != NULL ? r->n : 1; }

const struct mt_framework *mt_framework_at(const struct mt_framework_rules *r, int f)
{
    return r != NULL && f > 0 && f < r->n ? &r->row[f] : &blank_row;
}

int mt_framework_find(const struct mt_framework_rules *r, const char *id)
{
    for (int i = 0; i < mt_framework_count(r); i++)
        if (mt_rule_same(mt_framework_at(r, i)->id, id))
            return i;
    return -1;
}

bool mt_framework_is_main(const struct mt_framework_rules *r, int f)
{
    return f == MT_FW_NONE || mt_framework_at(r, f)->kind < MT_FWK_BACKEND;
}

uint64_t mt_framework_kind(const struct mt_framework_rules *r, enum mt_fw_kind k)
{
    return r != NULL ? r->kind[k] : 0;
}

const uint64_t *mt_framework_families(const struct mt_framework_rules *r)
{
    static const uint64_t none = 0;
    return r != NULL ? r->family : &none;
}

const char *const *mt_framework_log_packages(const struct mt_framework_rules *r)
{
    return r != NULL ? r->log_packages : NULL;
}

mt_fw mt_framework_plain(const struct mt_framework_rules *r)
{
    return r != NULL ? r->plain : MT_FW_NONE;
}

char *mt_framework_mask_words(const struct mt_framework_rules *r, uint64_t mask, char *buf,
                              size_t cap)
{
    size_t n = 0;
    if (cap == 0)
        return buf;
    buf[0] = '\0';
    for (int i = 1; i < r->n && n < cap; i++) {
        int k = (mask >> i & 1) != 0
                    ? snprintf(buf + n, cap - n, "%s%s", n > 0 ? ", " : "", r->row[i].words)
                    : 0;
        n += k > 0 ? (size_t)k : 0;
    }
    return buf;
}

char *mt_framework_ids(const struct mt_framework_rules *r, bool mains, char *buf, size_t cap)
{
    size_t n = 0;
    buf[0] = '\0';
    for (int i = mains ? 0 : 1; i < r->n && n < cap; i++) {
        if (mains && !mt_framework_is_main(r, i))
            continue;
        int k = snprintf(buf + n, cap - n, "%s%s", n > 0 ? ", " : "", r->row[i].id);
        n += k > 0 ? (size_t)k : 0;
    }
    return buf;
}
