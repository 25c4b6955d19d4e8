/* The role rules: the rows of the embedded roles.json, then those of an overlay. Read strictly: a
 * misspelt field would otherwise be a rule that silently never applies. */
#include "analysis/roles/rules.h"
#include "analysis/base/rule_json.h"

#include <string.h>

#define MAX_RULES 4096u
#define MAX_VOCABS 4096u

struct mt_role_rules {
    struct mt_arena arena;
    MT_VEC(struct mt_role_rule) rule;
    MT_VEC(struct mt_vocab) vocab;
};

enum field {
    F_ID,
    F_FRAMEWORK,
    F_ROLE,
    F_FILE,
    F_FUNCTION,
    F_STATUS,
    F_SOURCE,
    F_LINES,
    F_NOTE,
    F_ALWAYS,
    F_COUNT
};
static const char *const field_names[F_COUNT] = {"id",     "framework", "role",  "file", "function",
                                                 "status", "source",    "lines", "note", "always"};

struct file {
    struct mt_role_rules *r;
    const char *name;
    uint32_t first, first_vocab; /* rules and vocabularies before these are of an earlier file */
    bool is_overlay;
    struct mt_err *err;
};

static enum mt_rc nomem(const struct file *f)
{
    return mt_fail(f->err, MT_ENOMEM, "out of memory while reading the role rules");
}

static enum mt_rc refuse(const struct file *f, const char *list, unsigned index, const char *field,
                         const char *what)
{
    char printable[96];
    if (field == NULL)
        return mt_fail(f->err, MT_EINPUT, "%s: entry %u of \"%s\": %s", f->name, index + 1, list,
                       what);
    mt_printable(printable, sizeof printable, field, strlen(field));
    return mt_fail(f->err, MT_EINPUT, "%s: entry %u of \"%s\": field \"%s\" %s", f->name, index + 1,
                   list, printable, what);
}

static enum mt_rc read_fields(const struct file *f, unsigned index, const cJSON *obj,
                              const char *v[F_COUNT])
{
    const cJSON *m;
    if (!cJSON_IsObject(obj))
        return refuse(f, "roles", index, NULL, "is not an object");
    cJSON_ArrayForEach(m, obj)
    {
        int k = 0;
        while (k < F_COUNT && !mt_rule_same(m->string, field_names[k]))
            k++;
        if (k == F_COUNT)
            return refuse(f, "roles", index, m->string,
                          "is not known; there are id, framework, role, file, function, status, "
                          "source, lines, note and always");
        if (!cJSON_IsString(m) || m->valuestring[0] == '\0')
            return refuse(f, "roles", index, m->string, "has to be a string that is not empty");
        if (v[k] != NULL)
            return refuse(f, "roles", index, m->string, "is there twice");
        v[k] = m->valuestring;
    }
    for (int k = F_ID; k <= F_SOURCE; k++)
        if (v[k] == NULL)
            return refuse(f, "roles", index, field_names[k], "is missing");
    if (mt_role_find(v[F_ROLE], strlen(v[F_ROLE])) < 0)
        return refuse(f, "roles", index, "role", "is no role; docs/diagnosis.md lists them");
    if (strlen(v[F_STATUS]) != 1 || strchr("GRDU", v[F_STATUS][0]) == NULL)
        return refuse(f, "roles", index, "status",
                      "has to be one of G, R, D, U (see docs/rules-phases.md)");
    if (v[F_FILE][0] == '/' || strchr(v[F_FILE], '\\') != NULL)
        return refuse(f, "roles", index, "file",
                      "has to be the end of a path, with '/' and without one in front");
    if (v[F_LINES] != NULL && strcmp(v[F_LINES], "first") != 0 && strcmp(v[F_LINES], "last") != 0)
        return refuse(f, "roles", index, "lines", "has to be \"first\" or \"last\"");
    if (v[F_ALWAYS] != NULL && strcmp(v[F_ALWAYS], "yes") != 0)
        return refuse(f, "roles", index, "always", "has to be \"yes\"");
    if (v[F_ALWAYS] != NULL && strcmp(v[F_ROLE], "grad_reduce") != 0)
        return refuse(f, "roles", index, "always", "has a meaning for the role grad_reduce only");
    if (v[F_LINES] != NULL && strcmp(v[F_FILE], "C++") == 0)
        return refuse(f, "roles", index, "lines",
                      "has no meaning for C++ frames: their lines are not recorded");
    return MT_OK;
}

/* Where a rule goes: over the one with its id, or behind the last. */
static enum mt_rc place(const struct file *f, unsigned index, const char *id,
                        struct mt_role_rule **at)
{
    struct mt_role_rules *r = f->r;
    for (uint32_t i = 0; i < r->rule.n; i++) {
        if (!mt_rule_same(r->rule.p[i].id, id))
            continue;
        if (i >= f->first)
            return refuse(f, "roles", index, "id", "is there twice in this file");
        *at = &r->rule.p[i];
        return MT_OK;
    }
    if (r->rule.n >= MAX_RULES)
        return refuse(f, "roles", index, NULL,
                      "there are more than 4096 role rules, built-in ones included");
    *at = MT_VEC_PUSH(&r->rule);
    return *at != NULL ? MT_OK : nomem(f);
}

static enum mt_rc read_rule(const struct file *f, unsigned index, const cJSON *obj)
{
    const char *v[F_COUNT] = {NULL};
    const char *copy[F_COUNT];
    struct mt_role_rule *rule = NULL;
    enum mt_rc rc = read_fields(f, index, obj, v);
    if (rc < 0)
        return rc;
    for (int k = 0; k < F_COUNT; k++) {
        copy[k] = v[k] != NULL ? v[k] : "";
        if (f->is_overlay &&
            (copy[k] = mt_arena_strndup(&f->r->arena, copy[k], strlen(copy[k]))) == NULL)
            return nomem(f);
    }
    rc = place(f, index, copy[F_ID], &rule);
    if (rc < 0)
        return rc;
    *rule = (struct mt_role_rule){.id = copy[F_ID],
                                  .framework = copy[F_FRAMEWORK],
                                  .file = copy[F_FILE],
                                  .function = copy[F_FUNCTION],
                                  .note = copy[F_NOTE],
                                  .source = copy[F_SOURCE],
                                  .status = copy[F_STATUS][0],
                                  .role = (uint8_t)mt_role_find(copy[F_ROLE], strlen(copy[F_ROLE])),
                                  .lines = copy[F_LINES][0] == 'f'   ? MT_LINES_FIRST
                                           : copy[F_LINES][0] == 'l' ? MT_LINES_LAST
                                                                     : MT_LINES_ANY,
                                  .always = copy[F_ALWAYS][0] != '\0',
                                  .is_cpp = strcmp(copy[F_FILE], "C++") == 0,
                                  .is_overlay = f->is_overlay};
    return MT_OK;
}

static enum mt_rc read_vocab(const struct file *f, unsigned index, const cJSON *obj)
{
    const cJSON *size = mt_rule_field(obj, "size");
    const cJSON *source = mt_rule_field(obj, "source");
    struct mt_vocab *v = NULL;
    if (!cJSON_IsObject(obj) || cJSON_GetArraySize(obj) != 2 || !cJSON_IsNumber(size) ||
        !cJSON_IsString(source))
        return refuse(f, "vocabularies", index, NULL,
                      "has to be {\"size\": number, \"source\": \"model\"}");
    if (!(size->valuedouble >= 1000 && size->valuedouble <= 1e8) ||
        size->valuedouble != (double)(uint64_t)size->valuedouble)
        return refuse(f, "vocabularies", index, "size",
                      "has to be a whole number from 1000 to 100000000");
    for (uint32_t i = 0; i < f->r->vocab.n; i++)
        if (f->r->vocab.p[i].size == (uint64_t)size->valuedouble) {
            if (i >= f->first_vocab)
                return refuse(f, "vocabularies", index, "size", "is there twice in this file");
            v = &f->r->vocab.p[i];
        }
    if (v == NULL && f->r->vocab.n >= MAX_VOCABS)
        return refuse(f, "vocabularies", index, NULL, "there are more than 4096 vocabularies");
    if (v == NULL)
        v = MT_VEC_PUSH(&f->r->vocab);
    if (v == NULL)
        return nomem(f);
    v->size = (uint64_t)size->valuedouble;
    v->source = f->is_overlay ? mt_arena_strndup(&f->r->arena, source->valuestring,
                                                 strlen(source->valuestring))
                              : source->valuestring;
    return v->source != NULL ? MT_OK : nomem(f);
}

static enum mt_rc read_list(const struct file *f, const cJSON *root, const char *name,
                            enum mt_rc (*one)(const struct file *, unsigned, const cJSON *))
{
    const cJSON *m, *list = mt_rule_field(root, name);
    enum mt_rc rc = MT_OK;
    unsigned index = 0;
    if (list == NULL)
        return MT_OK;
    if (!cJSON_IsArray(list))
        return mt_fail(f->err, MT_EINPUT, "%s: \"%s\" has to be an array", f->name, name);
    cJSON_ArrayForEach(m, list)
    {
        rc = one(f, index++, m);
        if (rc < 0)
            break;
    }
    return rc;
}

/* Unknown keys of a rule file are for the readers of the other rules to refuse: they look at the
 * same text. */
static enum mt_rc read_root(struct file *f, const cJSON *root)
{
    enum mt_rc rc;
    f->first = f->r->rule.n;
    f->first_vocab = f->r->vocab.n;
    rc = read_list(f, root, "roles", read_rule);
    return rc >= 0 ? read_list(f, root, "vocabularies", read_vocab) : rc;
}

static enum mt_rc read_overlay(struct file *f, const char *text, size_t len)
{
    cJSON *root;
    enum mt_rc rc = mt_json_text(&root, text, len, f->name, f->err);
    if (rc >= 0)
        rc = read_root(f, root);
    cJSON_Delete(root);
    return rc;
}

static enum mt_rc read_builtin(struct file *f)
{
    cJSON *root;
    enum mt_rc rc = mt_rule_json("roles.json", &root, f->err);
    if (rc >= 0)
        rc = read_root(f, root);
    mt_free(root);
    return rc;
}

enum mt_rc mt_role_rules_load(struct mt_role_rules **out, const char *overlay, size_t overlay_len,
                              const char *overlay_name, struct mt_err *err)
{
    struct mt_role_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {.r = r, .name = "the built-in roles.json", .err = err};
    enum mt_rc rc;
    *out = NULL;
    if (r == NULL)
        return nomem(&f);
    rc = read_builtin(&f);
    if (rc >= 0 && overlay != NULL) {
        f.name = overlay_name != NULL ? overlay_name : "the rule file";
        f.is_overlay = true;
        rc = read_overlay(&f, overlay, overlay_len);
    }
    if (rc < 0)
        mt_role_rules_free(r);
    else
        *out = r;
    return rc;
}

void mt_role_rules_free(struct mt_role_rules *r)
{
    if (r == NULL)
        return;
    mt_arena_done(&r->arena);
    MT_VEC_DONE(&r->rule);
    MT_VEC_DONE(&r->vocab);
    mt_free(r);
}

uint32_t mt_role_rules_count(const struct mt_role_rules *r) { return r->rule.n; }

const struct mt_role_rule *mt_role_rule_at(const struct mt_role_rules *r, uint32_t index)
{
    return index < r->rule.n ? &r->rule.p[index] : NULL;
}

uint32_t mt_vocabs_count(const struct mt_role_rules *r) { return r->vocab.n; }

const struct mt_vocab *mt_vocab_at(const struct mt_role_rules *r, uint32_t index)
{
    return index < r->vocab.n ? &r->vocab.p[index] : NULL;
}
