/* The role rules: the rows of the embedded roles.json, then those of an overlay. Read strictly: a
 * misspelt field would otherwise be a rule that silently never applies. */
#include "analysis/roles/rules.h"
#include "analysis/base/rule_read.h"

#include <string.h>

#define MAX_RULES 4096u
#define MAX_VOCABS 4096u
#define MAX_WORDS 256u

struct mt_role_rules {
    struct mt_arena arena;
    MT_VEC(struct mt_role_rule) rule;
    MT_VEC(struct mt_vocab) vocab;
    MT_VEC(struct mt_role_word) word;
};

/* The loader's own of a reader. */
struct file {
    struct mt_role_rules *r;
    uint32_t first, first_vocab; /* rules and vocabularies before these are of an earlier file */
};

static MT_RULE_GET(get_role)
{
    int role = cJSON_IsString(v) ? mt_role_find(v->valuestring, strlen(v->valuestring)) : -1;
    *(uint8_t *)out = (uint8_t)role;
    return role >= 0 ? MT_OK : mt_rule_bad(r, f->name, "is no role; docs/diagnosis.md lists them");
}

/* A row, with what does not go into the rule as it stands. */
struct row {
    struct mt_role_rule rule;
    int lines, always, at; /* index in their words; -1 = absent */
};
static const char *const line_words[] = {"first", "last", NULL};
static const char *const yes[] = {"yes", NULL};
static const char *const at_words[] = {"free", NULL};
#define AT(member) offsetof(struct row, member)
static const struct mt_rule_spec fields[] = {
    {"id", mt_get_text, .at = AT(rule.id), .is_needed = true},
    {"framework", mt_get_text, .at = AT(rule.framework), .is_needed = true},
    {"role", get_role, .at = AT(rule.role), .is_needed = true},
    {"file", mt_get_text, .at = AT(rule.file), .is_needed = true},
    {"function", mt_get_text, .at = AT(rule.function), .is_needed = true},
    {"status", mt_get_letter, .at = AT(rule.status), .is_needed = true, .more = "GRDU"},
    {"source", mt_get_text, .at = AT(rule.source), .is_needed = true},
    {"lines", mt_get_word, .at = AT(lines), .more = line_words},
    {"note", mt_get_text, .at = AT(rule.note)},
    {"always", mt_get_word, .at = AT(always), .more = yes},
    {"at", mt_get_word, .at = AT(at), .more = at_words},
    {.name = NULL}};

static enum mt_rc check_row(const struct mt_rule_reader *r, const struct row *row)
{
    if (row->rule.file[0] == '/' || strchr(row->rule.file, '\\') != NULL)
        return mt_rule_bad(r, "file",
                           "has to be the end of a path, with '/' and without one in front");
    if (row->always >= 0 && row->rule.role != MT_ROLE_GRAD_REDUCE)
        return mt_rule_bad(r, "always", "has a meaning for the role grad_reduce only");
    if (row->lines >= 0 && row->rule.is_cpp)
        return mt_rule_bad(r, "lines",
                           "has no meaning for C++ frames: their lines are not recorded");
    if (row->at >= 0 && (row->rule.is_cpp || row->lines >= 0 || row->always >= 0))
        return mt_rule_bad(r, "at", "has a meaning for all lines of a Python function only");
    return MT_OK;
}

/* Where a rule goes: over the one with its id, or behind the last. */
static enum mt_rc place(const struct mt_rule_reader *rd, const char *id, struct mt_role_rule **at)
{
    const struct file *f = rd->of;
    struct mt_role_rules *r = f->r;
    for (uint32_t i = 0; i < r->rule.n; i++) {
        *at = &r->rule.p[i];
        if (mt_rule_same((*at)->id, id))
            return i >= f->first || (*at)->is_overlay
                       ? mt_rule_bad(rd, "id", "is there twice in this file")
                       : MT_OK;
    }
    if (r->rule.n >= MAX_RULES)
        return mt_rule_bad(rd, NULL, "there are more than 4096 role rules, built-in ones included");
    *at = MT_VEC_PUSH(&r->rule);
    return *at != NULL ? MT_OK : mt_rule_nomem(rd);
}

static enum mt_rc read_rule(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct row row = {{.note = ""}, -1, -1, -1};
    struct mt_role_rule *rule = NULL;
    enum mt_rc rc = mt_rule_fields(rd, obj, fields, &row);
    row.rule.is_cpp = rc == MT_OK && strcmp(row.rule.file, "C++") == 0;
    if (rc == MT_OK)
        rc = check_row(rd, &row);
    if (rc == MT_OK)
        rc = place(rd, row.rule.id, &rule);
    if (rc != MT_OK)
        return rc;
    row.rule.lines = (uint8_t)(MT_LINES_FIRST + row.lines);
    row.rule.always = row.always >= 0;
    row.rule.at_free = row.at >= 0;
    row.rule.is_overlay = rd->is_overlay;
    *rule = row.rule;
    return MT_OK;
}
_Static_assert(MT_LINES_FIRST - 1 == MT_LINES_ANY && MT_LINES_FIRST + 1 == MT_LINES_LAST,
               "in the order of line_words");

static MT_RULE_GET(get_size)
{
    double size = cJSON_IsNumber(v) ? v->valuedouble : 0;
    if (!(size >= 1000 && size <= 1e8) || size != (double)(uint64_t)size)
        return mt_rule_bad(r, f->name, "has to be a whole number from 1000 to 100000000");
    *(uint64_t *)out = (uint64_t)size;
    return MT_OK;
}

static enum mt_rc read_vocab(struct mt_rule_reader *rd, const cJSON *obj)
{
    static const struct mt_rule_spec of_vocab[] = {
        {"size", get_size, .at = offsetof(struct mt_vocab, size), .is_needed = true},
        {"source", mt_get_any_text, .at = offsetof(struct mt_vocab, source), .is_needed = true},
        {.name = NULL}};
    const struct file *f = rd->of;
    struct mt_role_rules *r = f->r;
    struct mt_vocab row, *v = NULL;
    enum mt_rc rc = mt_rule_fields(rd, obj, of_vocab, &row);
    if (rc != MT_OK)
        return rc;
    for (uint32_t i = 0; i < r->vocab.n; i++) {
        if (r->vocab.p[i].size != row.size)
            continue;
        if (i >= f->first_vocab)
            return mt_rule_bad(rd, "size", "is there twice in this file");
        v = &r->vocab.p[i];
    }
    if (v == NULL && r->vocab.n >= MAX_VOCABS)
        return mt_rule_bad(rd, NULL, "there are more than 4096 vocabularies");
    if (v == NULL && (v = MT_VEC_PUSH(&r->vocab)) == NULL)
        return mt_rule_nomem(rd);
    *v = row;
    return MT_OK;
}

static enum mt_rc read_word(struct mt_rule_reader *rd, const cJSON *obj)
{
    static const struct mt_rule_spec of_word[] = {
        {"word", mt_get_text, .at = offsetof(struct mt_role_word, word), .is_needed = true},
        {"role", get_role, .at = offsetof(struct mt_role_word, role), .is_needed = true},
        {.name = NULL}};
    const struct file *f = rd->of;
    struct mt_role_word row = {.word = ""}, *w;
    enum mt_rc rc = mt_rule_fields(rd, obj, of_word, &row);
    if (rc == MT_OK && row.word[strspn(row.word, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
        rc = mt_rule_bad(rd, "word", "has small letters, digits and '_' only");
    if (rc == MT_OK && f->r->word.n >= MAX_WORDS)
        rc = mt_rule_bad(rd, NULL, "there are more than 256 words of names");
    if (rc != MT_OK)
        return rc;
    if ((w = MT_VEC_PUSH(&f->r->word)) == NULL)
        return mt_rule_nomem(rd);
    *w = row;
    return MT_OK;
}

enum mt_rc mt_role_rules_load(struct mt_role_rules **out, const char *overlay, size_t overlay_len,
                              const char *overlay_name, struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"roles", "role rule", "id", read_rule},
                                                {"vocabularies", "vocabulary", NULL, read_vocab},
                                                {"names", "name", "word", read_word},
                                                {.name = NULL}};
    struct mt_role_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {.r = r};
    struct mt_rule_reader rd = {.file = "roles.json", .err = err, .of = &f};
    enum mt_rc rc;
    *out = NULL;
    if (r == NULL)
        return mt_rule_nomem(&rd);
    rd.arena = &r->arena;
    rc = mt_rule_builtin(&rd, "roles.json", lists);
    f.first = r->rule.n;
    f.first_vocab = r->vocab.n;
    if (rc == MT_OK)
        rc = mt_rule_overlay(&rd, overlay, overlay_len, overlay_name, lists);
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
    MT_VEC_DONE(&r->word);
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

unsigned mt_role_of_name(const struct mt_role_rules *r, const char *name, size_t n)
{
    char said[260];
    size_t used = 0;
    said[used++] = '_';
    for (size_t i = 0; i < n && used + 2 < sizeof said; i++) {
        unsigned char c = (unsigned char)name[i];
        said[used++] = (char)(c >= 'A' && c <= 'Z'                               ? c + 32
                              : (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c
                                                                                 : '_');
    }
    said[used++] = '_';
    said[used] = '\0';
    for (uint32_t i = 0; i < r->word.n; i++) {
        size_t len = strlen(r->word.p[i].word);
        for (const char *p = said; (p = strstr(p, r->word.p[i].word)) != NULL; p++)
            if (p[-1] == '_' && p[len] == '_')
                return r->word.p[i].role;
    }
    return MT_ROLE_COUNT;
}
