/* setup/rows.c -- the rows of frameworks.json and of an overlay, read strictly: a misspelt field
 * would otherwise be knowledge that silently is not there. */
#include "analysis/setup/framework_fields.h"

#include <limits.h>
#include <stdio.h>

struct mt_framework_rules {
    struct mt_arena arena;
    cJSON *overlay; /* NULL = none */
    const char *overlay_name;
    const struct mt_runconf *settings; /* not owned; NULL = none */
    struct mt_framework row[MT_FW_MAX];
    int n;
    uint64_t kind[MT_FWK_COUNT];
    uint64_t
        packaged[UCHAR_MAX + 1]; /* by the first letter of a package: of no backend or library */
    uint64_t family[MT_FW_MAX + 1];
    mt_fw plain;
    const char *log_packages[MT_FW_MAX];
};

/* The loader's own of a reader. */
struct file {
    struct mt_framework_rules *r;
    uint64_t rows; /* that stand in this file */
};

static const char *const kinds[] = {"rl", "tuner", "trainer", "engine", "backend", "library", NULL};
static const char *const parts[] = {"fsdp1",         "fsdp2",    "ddp",          "core", "zero",
                                    "checkpointing", "compiled", "chunked_loss", NULL};
static const char *const traits[] = {"plain",           "log_files",     "passes_in_step",
                                     "set_up_in_step",  "log_probs",     "offloads_between_phases",
                                     "fsdp_alone",      "own_expert_tp", "keeps_32bit",
                                     "rank_ends_names", "own_flags",     NULL};
static const char *const no_texts[] = {NULL};

enum mt_rc mt_rule_framework(const struct mt_rule_reader *r, const char *field, const char *id,
                             mt_fw *out)
{
    int i = mt_framework_find(r->fw, id);
    char ids[760], name[64];
    if (i <= MT_FW_NONE)
        return mt_rule_bad(r, field,
                           "\"%s\" is not a framework, library or component (a row in "
                           "\"frameworks\" adds one); there are %s",
                           mt_printable(name, sizeof name, id, strlen(id)),
                           mt_framework_ids(r->fw, false, ids, sizeof ids));
    *out = (mt_fw)i;
    return MT_OK;
}

MT_RULE_GET(mt_get_framework)
{
    return cJSON_IsString(v) ? mt_rule_framework(r, f->name, v->valuestring, out)
                             : mt_rule_bad(r, f->name, "has to be the id of a framework");
}

MT_RULE_GET(mt_get_frameworks)
{
    uint64_t mask = 0;
    uint32_t n;
    const cJSON *c;
    enum mt_rc rc = mt_rule_count(r, f->name, v, &n);
    if (rc == MT_OK && n == 0)
        return mt_rule_bad(r, f->name, "is empty");
    cJSON_ArrayForEach(c, v)
    {
        mt_fw one = MT_FW_NONE;
        if (rc == MT_OK)
            rc = mt_get_framework(r, f, c, &one);
        mask |= MT_FW_BIT(one);
    }
    *(uint64_t *)out = mask;
    return rc;
}

static const struct mt_rule_spec package_fields[] = {
    {"name", mt_get_text, offsetof(struct mt_fw_package, name), .is_needed = true},
    {"inside", mt_get_texts, .at = offsetof(struct mt_fw_package, inside)},
    {.name = NULL}};
static const struct mt_fw_package blank_package = {NULL, no_texts};
static const struct mt_rule_rows package_rows = {package_fields, sizeof blank_package,
                                                 &blank_package, NULL};

static const struct mt_rule_spec frame_fields[] = {
    {"parts", mt_get_bits, .at = offsetof(struct mt_fw_frame, parts), .more = parts},
    {"file", mt_get_text, offsetof(struct mt_fw_frame, file), .is_needed = true},
    {"functions", mt_get_texts, .at = offsetof(struct mt_fw_frame, functions)},
    {.name = NULL}};
static const struct mt_fw_frame blank_frame = {0, NULL, no_texts};
static const struct mt_rule_rows frame_rows = {frame_fields, sizeof blank_frame, &blank_frame,
                                               NULL};

static const struct mt_rule_spec naming_fields[] = {
    {"setting", mt_get_text, .at = offsetof(struct mt_fw_naming, setting)},
    {"is", mt_get_texts, .at = offsetof(struct mt_fw_naming, is)},
    {"keys_below", mt_get_text, .at = offsetof(struct mt_fw_naming, keys_below)},
    {.name = NULL}};
static const struct mt_fw_naming blank_naming = {"", no_texts, ""};

/* A value of a setting, or where keys lie: one of the two. */
static enum mt_rc check_naming(const struct mt_rule_reader *r, const char *field, void *row)
{
    const struct mt_fw_naming *n = row;
    bool by_value = n->setting[0] != '\0' && n->is[0] != NULL;
    return by_value != (n->keys_below[0] != '\0') &&
                   by_value == (n->setting[0] != '\0' || n->is[0] != NULL)
               ? MT_OK
               : mt_rule_bad(r, field, "has to be \"setting\" and \"is\", or \"keys_below\"");
}
static const struct mt_rule_rows naming_rows = {naming_fields, sizeof blank_naming, &blank_naming,
                                                check_naming};

static const struct mt_rule_spec howto_fields[] = {
    {"what", mt_get_text, offsetof(struct mt_fw_howto, what), .is_needed = true},
    {"lines", mt_get_texts, offsetof(struct mt_fw_howto, lines), .is_needed = true},
    {"source", mt_get_text, offsetof(struct mt_fw_howto, source), .is_needed = true},
    {.name = NULL}};
static const struct mt_fw_howto blank_howto = {NULL, no_texts, NULL};
static const struct mt_rule_rows howto_rows = {howto_fields, sizeof blank_howto, &blank_howto,
                                               NULL};

#define AT(member) offsetof(struct mt_framework, member)
static const struct mt_rule_spec row_fields[] = {
    {"id", NULL, .at = 0},
    {"note", NULL, .at = 0},
    {"words", mt_get_text, AT(words), .is_needed = true},
    {"kind", mt_get_word, AT(kind), .is_needed = true, .more = kinds},
    {"packages", mt_get_rows, .at = AT(packages), .more = &package_rows},
    {"frames", mt_get_rows, .at = AT(frames), .more = &frame_rows},
    {"named_by", mt_get_rows, .at = AT(named_by), .more = &naming_rows},
    {"howto", mt_get_rows, .at = AT(howto), .more = &howto_rows},
    {"runs_in", mt_get_texts, .at = AT(runs_in)},
    {"not_in", mt_get_texts, .at = AT(not_in)},
    {"starts_as", mt_get_texts, .at = AT(starts_as)},
    {"processes", mt_get_texts, .at = AT(processes)},
    {"told_by", mt_get_texts, .at = AT(told_by)},
    {"log_lines", mt_get_texts, .at = AT(log_lines)},
    {"allocators", mt_get_texts, .at = AT(allocators)},
    {"in_log_files", mt_get_text, .at = AT(in_log_files)},
    {"one_of", mt_get_text, .at = AT(one_of)},
    {"shards_with", mt_get_text, .at = AT(shards_with)},
    {"host_params", mt_get_text, .at = AT(host_params)},
    {"lora_targets", mt_get_text, .at = AT(lora_targets)},
    {"lora_targets_core", mt_get_text, .at = AT(lora_targets_core)},
    {"drives", mt_get_frameworks, .at = AT(drives)},
    {"usual", mt_get_frameworks, .at = AT(usual)},
    {"program_in", mt_get_framework, .at = AT(program_in)},
    {"order_as", mt_get_framework, .at = AT(order_as)},
    {"same_as", mt_get_framework, .at = AT(same_as)},
    {"settings_of", mt_get_frameworks, .at = AT(settings_of)},
    {"engine", mt_get_framework, .at = AT(engine)},
    {"parts", mt_get_bits, .at = AT(parts), .more = parts},
    {"shows", mt_get_bits, .at = AT(shows), .more = parts},
    {"traits", mt_get_bits, .at = AT(traits), .more = traits},
    {.name = NULL},
};

static const struct mt_fw_package no_packages[] = {{NULL, NULL}};
static const struct mt_fw_frame no_frames[] = {{0, NULL, NULL}};
static const struct mt_fw_naming no_namings[] = {{NULL, NULL, NULL}};
static const struct mt_fw_howto no_howtos[] = {{NULL, NULL, NULL}};
static const struct mt_framework blank_row = {.id = "none",
                                              .words = "plain PyTorch",
                                              .kind = MT_FWK_COUNT,
                                              .packages = no_packages,
                                              .frames = no_frames,
                                              .named_by = no_namings,
                                              .howto = no_howtos,
                                              .runs_in = no_texts,
                                              .not_in = no_texts,
                                              .starts_as = no_texts,
                                              .processes = no_texts,
                                              .told_by = no_texts,
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
static enum mt_rc add_row(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct file *f = rd->of;
    struct mt_framework_rules *r = f->r;
    int at;
    (void)obj;
    if (rd->id == NULL || !is_id(rd->id))
        return mt_rule_bad(rd, "id", "has to be a text of small letters, digits and '_'");
    if (strcmp(rd->id, "model") == 0 || strcmp(rd->id, "generic") == 0)
        return mt_rule_bad(rd, "id", "has a meaning of its own in rule files");
    at = mt_framework_find(r, rd->id);
    if (at == MT_FW_NONE || (at > 0 && (f->rows & MT_FW_BIT(at)) != 0))
        return mt_rule_bad(rd, "id", "stands twice; every framework has an id of its own");
    if (at < 0 && r->n == MT_FW_MAX)
        return mt_rule_bad(rd, "id", "is one too many: there are 63 frameworks at most");
    if (at < 0)
        at = r->n++;
    f->rows |= MT_FW_BIT(at);
    r->row[at] = blank_row;
    r->row[at].id = mt_rule_keep(rd, rd->id);
    return r->row[at].id != NULL ? MT_OK : mt_rule_nomem(rd);
}

static enum mt_rc read_row(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct mt_framework_rules *r = ((struct file *)rd->of)->r;
    return mt_rule_fields(rd, obj, row_fields, &r->row[mt_framework_find(r, rd->id)]);
}

/* Of each row, also what those that it names have. */
static void close_over(uint64_t set[MT_FW_MAX], int n)
{
    for (int k = 1; k < n; k++)
        for (int i = 1; i < n; i++)
            set[i] |= (set[i] & MT_FW_BIT(k)) != 0 ? set[k] : 0;
}

/* Who drives whom forms no circle, no row is its own relative, and a column that is shared is
 * somebody's own: otherwise rows would lose against each other, or have no order, and nobody would
 * be told. */
static enum mt_rc check_links(struct mt_rule_reader *rd)
{
    const struct mt_framework_rules *r = rd->fw;
    uint64_t reach[MT_FW_MAX], has[MT_FW_MAX];
    int n_packages = 0;
    for (int i = 0; i < r->n; i++) {
        reach[i] = r->row[i].drives;
        has[i] = r->row[i].settings_of;
    }
    close_over(reach, r->n);
    close_over(has, r->n);
    rd->kind = "framework";
    for (int i = 1; i < r->n; i++) {
        const struct mt_framework *row = &r->row[i];
        const struct mt_fw_package *p = row->packages;
        rd->id = row->id;
        rd->index = (unsigned)i;
        if ((reach[i] & MT_FW_BIT(i)) != 0)
            return mt_rule_bad(rd, "drives", "leads back to the row itself");
        if (row->program_in != MT_FW_NONE && (row->program_in == i || row->runs_in[0] == NULL ||
                                              (row->drives >> row->program_in & 1) == 0))
            return mt_rule_bad(rd, "program_in",
                               "has to be another row, one of \"drives\", and needs \"runs_in\"");
        if (row->same_as == i)
            return mt_rule_bad(rd, "same_as", "is the row itself");
        if ((has[i] & MT_FW_BIT(i)) != 0)
            return mt_rule_bad(rd, "settings_of", "leads back to the row itself");
        if (row->order_as != MT_FW_NONE && r->row[row->order_as].order_as != MT_FW_NONE)
            return mt_rule_bad(rd, "order_as", "names a row that has no column of its own");
        for (; (row->traits & MT_FWT_LOG_FILES) != 0 && p->name != NULL; p++)
            if (++n_packages >= MT_FW_MAX)
                return mt_rule_bad(rd, "packages",
                                   "are too many: logs are searched for 63 packages at most");
    }
    return MT_OK;
}

/* What is asked of all rows at once. */
static void sum_up(struct mt_framework_rules *r)
{
    int n_families = 0, n_packages = 0;
    uint64_t has[MT_FW_MAX];
    memset(r->kind, 0, sizeof r->kind);
    for (int i = 0; i < r->n; i++)
        has[i] = r->row[i].settings_of;
    close_over(has, r->n);
    for (int i = 0; i < r->n; i++)
        r->row[i].settings_of = has[i];
    for (int i = 1; i < r->n; i++) {
        const struct mt_framework *row = &r->row[i];
        uint64_t family = 0;
        r->kind[row->kind] |= MT_FW_BIT(i);
        for (const struct mt_fw_package *p = row->packages;
             row->kind < MT_FWK_BACKEND && p->name != NULL; p++)
            r->packaged[(unsigned char)p->name[0]] |= MT_FW_BIT(i);
        for (const struct mt_fw_package *p = row->packages;
             (row->traits & MT_FWT_LOG_FILES) != 0 && p->name != NULL; p++)
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
    static const struct mt_rule_list lists[] = {{"frameworks", "framework", "id", add_row},
                                                {"frameworks", "framework", "id", read_row},
                                                {.name = NULL}};
    struct mt_framework_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {r, 0};
    struct mt_rule_reader rd = {.file = "frameworks.json", .err = err, .fw = r, .of = &f};
    enum mt_rc rc;
    *out = NULL;
    if (r == NULL)
        return mt_rule_nomem(&rd);
    rd.arena = &r->arena;
    r->row[r->n++] = blank_row;
    rc = mt_rule_builtin(&rd, "frameworks.json", lists);
    if (rc == MT_OK && overlay != NULL) {
        rd.file = overlay_name != NULL ? overlay_name : "the rule file";
        rd.is_overlay = true;
        f.rows = 0;
        r->overlay_name = mt_arena_strndup(&r->arena, rd.file, strlen(rd.file));
        rc = r->overlay_name != NULL ? mt_json_text(&r->overlay, overlay, overlay_len, rd.file, err)
                                     : mt_rule_nomem(&rd);
        if (rc == MT_OK)
            rc = mt_rule_read(&rd, r->overlay, lists);
    }
    if (rc == MT_OK)
        rc = check_links(&rd);
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

const struct mt_runconf *mt_framework_settings(const struct mt_framework_rules *r)
{
    return r != NULL ? r->settings : NULL;
}

void mt_framework_share(struct mt_framework_rules *r, const struct mt_runconf *settings)
{
    r->settings = settings;
}

uint64_t mt_framework_packaged(const struct mt_framework_rules *r, char first)
{
    return r != NULL ? r->packaged[(unsigned char)first] : 0;
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
