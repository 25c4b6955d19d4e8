/* metrics/read.c -- the rows of metrics.json and of an overlay, read strictly: a misspelt field
 * would otherwise be a number that silently is never there. */
#include "analysis/metrics/impl.h"

#include "analysis/base/rule_read.h"

/* The loader's own of a reader. */
struct file {
    struct mt_metric_rules *r;
    const struct mt_runconf *conf;
    uint32_t at; /* of the row that is being read */
};

static enum mt_rc check_frame(const struct mt_rule_reader *r, const char *field, void *row)
{
    const struct mt_metric_frame *f = row;
    bool started = f->started[0] != '\0', set = f->setting[0] != '\0' && f->is[0] != '\0';
    bool code = f->code[0] != '\0',
         said = f->said[0] != '\0' || f->tried[0] != '\0' || f->kept[0] != '\0';
    bool operation = f->operation[0] != '\0';
    int ways = operation + (f->file[0] != '\0' || f->function[0] != '\0') + started + set + code +
               (f->said[0] != '\0') + (f->tried[0] != '\0') + (f->kept[0] != '\0');
    if (ways != 1 || (f->setting[0] != '\0') != (f->is[0] != '\0'))
        return mt_rule_bad(
            r, field,
            "has to have, each time, a file or a function, or \"operation\" alone, "
            "or \"started\" alone, or "
            "\"code\", \"said\", \"tried\" or \"kept\" alone, or \"setting\" and \"is\"");
    if (operation && (strcmp(field, "seen") == 0 || strcmp(field, "single_block_of") == 0))
        return mt_rule_bad(r, field, "has \"operation\", which goes with blocks and requests");
    if (code && strcmp(field, "asked") != 0)
        return mt_rule_bad(r, field, "has \"code\", which goes with \"asked\"");
    return (started || set || said) && strcmp(field, "seen") != 0
               ? mt_rule_bad(r, field, "has what goes with \"seen\" alone")
               : MT_OK;
}

static enum mt_rc get_frames(const struct mt_rule_reader *r, const char *field, const cJSON *list,
                             struct mt_metric_row *row)
{
    static const struct mt_rule_spec fields[] = {
        {"file", mt_get_text, .at = offsetof(struct mt_metric_frame, file)},
        {"function", mt_get_text, .at = offsetof(struct mt_metric_frame, function)},
        {"operation", mt_get_text, .at = offsetof(struct mt_metric_frame, operation)},
        {"started", mt_get_text, .at = offsetof(struct mt_metric_frame, started)},
        {"setting", mt_get_text, .at = offsetof(struct mt_metric_frame, setting)},
        {"is", mt_get_text, .at = offsetof(struct mt_metric_frame, is)},
        {"code", mt_get_text, .at = offsetof(struct mt_metric_frame, code)},
        {"said", mt_get_text, .at = offsetof(struct mt_metric_frame, said)},
        {"tried", mt_get_text, .at = offsetof(struct mt_metric_frame, tried)},
        {"kept", mt_get_text, .at = offsetof(struct mt_metric_frame, kept)},
        {.name = NULL}};
    static const struct mt_metric_frame blank = {"", "", "", "", "", "", "", "", "", ""};
    static const struct mt_rule_rows rows = {fields, sizeof blank, &blank, check_frame};
    const struct mt_rule_spec f = {field, mt_get_rows, offsetof(struct mt_metric_row, frames),
                                   .more = &rows,
                                   .count_at = offsetof(struct mt_metric_row, n_frames)};
    enum mt_rc rc = mt_get_rows(r, &f, list, &row->frames);
    return rc == MT_OK && row->n_frames == 0 ? mt_rule_bad(r, field, "has to be a list of frames")
                                             : rc;
}

/* Names that an expression of a row may use: what the program measures, and the rows before it, so
 * that none hangs on itself. Not what depends on the rule that asks. */
struct names {
    struct mt_metric_names all;
    uint32_t limit;
};
static bool may_use(void *arg, const char *name, size_t n)
{
    struct names *k = arg;
    int row = mt_metric_row_find(k->all.rules, name, n);
    if (row >= 0)
        return (uint32_t)row < k->limit;
    return strncmp("current", name, n) != 0 && strncmp("proposed", name, n) != 0 &&
           mt_metric_exists(&k->all, name, n);
}

static enum mt_rc get_expr(const struct mt_rule_reader *r, const struct mt_rule_spec *f,
                           const cJSON *v, struct mt_metric_row *row)
{
    const struct file *of = r->of;
    struct names names = {{of->conf, of->r}, of->at};
    struct mt_expr *e = NULL, **slot;
    struct mt_err why = {.rc = MT_OK};
    const char *text;
    enum mt_rc rc = mt_get_text(r, f, v, &text);
    if (rc == MT_OK && (rc = mt_expr_compile(&e, text, may_use, &names, &why)) != MT_OK)
        return rc == MT_ENOMEM ? mt_rule_nomem(r) : mt_rule_bad(r, f->name, "%s", why.msg);
    if (rc == MT_OK && (slot = MT_VEC_PUSH(&of->r->exprs)) != NULL)
        row->is = *slot = e;
    else
        mt_expr_free(e);
    return rc == MT_OK && row->is == NULL ? mt_rule_nomem(r) : rc;
}

/* The field says how the row is computed, and of what. */
static MT_RULE_GET(get_way)
{
    static const char *const ways[] = {[MT_METRIC_SEEN] = "seen",
                                       [MT_METRIC_ASKED] = "asked",
                                       [MT_METRIC_LIVE] = "live_through",
                                       [MT_METRIC_LARGEST] = "largest_through",
                                       [MT_METRIC_SINGLE] = "single_block_of",
                                       [MT_METRIC_LOGITS] = "logits_through",
                                       [MT_METRIC_WHOLE] = "whole_logits_by",
                                       [MT_METRIC_SPREAD] = "spread_by",
                                       [MT_METRIC_ROWS] = "rows_by",
                                       [MT_METRIC_SQUARE] = "square_by",
                                       [MT_METRIC_JOINED] = "joined_by",
                                       [MT_METRIC_WIDENED] = "widened_by",
                                       [MT_METRIC_IS] = "is",
                                       NULL};
    struct mt_metric_row *row = out;
    if (row->is != NULL || row->frames != NULL)
        return mt_rule_bad(r, f->name, "is a second way to compute it; one is enough");
    row->how = (enum mt_metric_how)mt_rule_word_find(ways, f->name);
    return row->how == MT_METRIC_IS ? get_expr(r, f, v, row) : get_frames(r, f->name, v, row);
}

static MT_RULE_GET(get_unit)
{
    char letter;
    enum mt_rc rc = mt_get_letter(r, f, v, &letter);
    return rc == MT_OK ? mt_get_text(r, f, v, out) : rc;
}

#define AT(member) offsetof(struct mt_metric_row, member)
static const struct mt_rule_spec row_fields[] = {
    {"name", mt_get_text, AT(name), .is_needed = true},
    {"unit", get_unit, AT(unit), .is_needed = true, .more = "Bnr?"},
    {"says", mt_get_text, AT(says), .is_needed = true},
    {"one_of", mt_get_text, .at = AT(one_of)},
    {"leaves_out", mt_get_texts, .at = AT(leaves_out)},
    {"with_request", mt_get_flag, .at = AT(with_request)},
    {"seen", get_way, .at = 0},
    {"asked", get_way, .at = 0},
    {"live_through", get_way, .at = 0},
    {"largest_through", get_way, .at = 0},
    {"single_block_of", get_way, .at = 0},
    {"logits_through", get_way, .at = 0},
    {"whole_logits_by", get_way, .at = 0},
    {"spread_by", get_way, .at = 0},
    {"rows_by", get_way, .at = 0},
    {"square_by", get_way, .at = 0},
    {"joined_by", get_way, .at = 0},
    {"widened_by", get_way, .at = 0},
    {"is", get_way, .at = 0},
    {.name = NULL}};

static enum mt_rc check(const struct mt_rule_reader *r, const struct mt_metric_row *row)
{
    bool of_blocks = row->how == MT_METRIC_LIVE || row->how == MT_METRIC_LARGEST;
    if (row->is == NULL && row->frames == NULL)
        return mt_rule_bad(
            r, "seen",
            "is missing, and so are asked, live_through, largest_through, "
            "single_block_of, logits_through, whole_logits_by, spread_by, rows_by, square_by, "
            "joined_by, widened_by and is: one of them says how it is computed");
    if (row->with_request && !of_blocks)
        return mt_rule_bad(r, "with_request", "goes with live_through and largest_through only");
    if (row->one_of[0] != '\0' && row->how != MT_METRIC_SEEN)
        return mt_rule_bad(r, "one_of", "goes with seen only");
    if (row->leaves_out != NULL && row->unit[0] != '?')
        return mt_rule_bad(r, "leaves_out", "goes with a row that is yes or no");
    return MT_OK;
}

static bool is_name(const char *s)
{
    for (const char *c = s; *c != '\0'; c++)
        if ((*c < 'a' || *c > 'z') && *c != '_' && (c == s || *c < '0' || *c > '9'))
            return false;
    return *s != '\0';
}

/* Rows are computed from rows before them, one call inside the other: 800 rows that each need the
 * one before took 8 MiB of stack. */
#define MAX_ROWS 400

static enum mt_rc read_row(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct file *f = rd->of;
    struct mt_metric_names program = {f->conf, NULL};
    struct mt_metric_row row = {.one_of = ""}, *slot;
    const char *name = rd->id;
    enum mt_rc rc;
    int at;
    if (name == NULL || !is_name(name))
        return mt_rule_bad(rd, "name", "has to be of small letters, digits and _");
    if (mt_metric_exists(&program, name, strlen(name)))
        return mt_rule_bad(rd, "name", "is that of a number that the program itself measures");
    at = mt_metric_row_find(f->r, name, strlen(name));
    if (at >= 0 && (!rd->is_overlay || f->r->row.p[at].is_overlay))
        return mt_rule_bad(rd, "name", "is there twice in this file");
    if (at < 0 && f->r->row.n >= MAX_ROWS)
        return mt_rule_bad(rd, NULL, "there are more than %d metrics, built-in ones included",
                           MAX_ROWS);
    f->at = at >= 0 ? (uint32_t)at : f->r->row.n;
    rc = mt_rule_fields(rd, obj, row_fields, &row);
    if (rc == MT_OK)
        rc = check(rd, &row);
    if (rc != MT_OK)
        return rc;
    slot = at >= 0 ? &f->r->row.p[at] : MT_VEC_PUSH(&f->r->row);
    if (slot == NULL)
        return mt_rule_nomem(rd);
    row.is_overlay = rd->is_overlay;
    *slot = row;
    return MT_OK;
}

enum mt_rc mt_metric_rules_load(struct mt_metric_rules **out, const struct mt_runconf *conf,
                                const char *overlay, size_t overlay_len, const char *overlay_name,
                                struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"metrics", "metric", "name", read_row},
                                                {.name = NULL}};
    struct mt_metric_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {.r = r, .conf = conf};
    struct mt_rule_reader rd = {.file = "metrics.json", .err = err, .of = &f};
    enum mt_rc rc;
    *out = NULL;
    if (r == NULL)
        return mt_rule_nomem(&rd);
    rd.arena = &r->arena;
    rc = mt_rule_builtin(&rd, "metrics.json", lists);
    if (rc == MT_OK)
        rc = mt_rule_overlay(&rd, overlay, overlay_len, overlay_name, lists);
    if (rc == MT_OK && !mt_metric_sort(r))
        rc = mt_rule_nomem(&rd);
    if (rc != MT_OK)
        mt_metric_rules_free(r);
    else
        *out = r;
    return rc;
}
