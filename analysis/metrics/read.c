/* metrics/read.c -- the rows of metrics.json and of an overlay, read strictly: a misspelt field
 * would otherwise be a number that silently is never there. */
#include "analysis/metrics/impl.h"

#include "analysis/base/rule_json.h"

/* One file that is being read. */
struct file {
    struct mt_metric_rules *r;
    const struct mt_runconf *conf;
    const char *name, *row; /* for messages */
    struct mt_err *err;
};

static enum mt_rc bad(const struct file *f, const char *field, const char *what)
{
    char row[80], name[80];
    return mt_fail(f->err, MT_EINPUT, "%s: metric %s: field \"%s\" %s", f->name,
                   mt_printable(row, sizeof row, f->row, strlen(f->row)),
                   mt_printable(name, sizeof name, field, strlen(field)), what);
}

static enum mt_rc nomem(const struct file *f)
{
    return mt_fail(f->err, MT_ENOMEM, "%s: out of memory while reading the metrics", f->name);
}

static enum mt_rc get_text(const struct file *f, const char *field, const cJSON *v,
                           const char **out)
{
    if (!cJSON_IsString(v) || v->valuestring[0] == '\0')
        return bad(f, field, "has to be a text that is not empty");
    *out = mt_arena_strndup(&f->r->arena, v->valuestring, strlen(v->valuestring));
    return *out != NULL ? MT_OK : nomem(f);
}

static enum mt_rc get_frame(const struct file *f, const char *field, const cJSON *v,
                            struct mt_metric_frame *out)
{
    const cJSON *c;
    enum mt_rc rc = MT_OK;
    *out = (struct mt_metric_frame){"", ""};
    cJSON_ArrayForEach(c, v)
    {
        const char **to = mt_rule_same(c->string, "file")       ? &out->file
                          : mt_rule_same(c->string, "function") ? &out->function
                                                                : NULL;
        if (to == NULL)
            return bad(f, field, "has a frame with something else than a file and a function");
        if (rc == MT_OK)
            rc = get_text(f, field, c, to);
    }
    if (rc == MT_OK && out->file[0] == '\0' && out->function[0] == '\0')
        return bad(f, field, "has a frame without a file and without a function");
    return rc;
}

static enum mt_rc get_frames(const struct file *f, const char *field, const cJSON *list,
                             struct mt_metric_row *row)
{
    struct mt_metric_frame *frames;
    const cJSON *v;
    enum mt_rc rc = MT_OK;
    uint32_t n = 0;
    if (!cJSON_IsArray(list) || list->child == NULL)
        return bad(f, field, "has to be a list of frames");
    cJSON_ArrayForEach(v, list) n++;
    frames = mt_arena_alloc(&f->r->arena, n * sizeof *frames, _Alignof(struct mt_metric_frame));
    if (frames == NULL)
        return nomem(f);
    row->frames = frames;
    row->n_frames = n;
    cJSON_ArrayForEach(v, list)
    {
        if (rc == MT_OK)
            rc = get_frame(f, field, v, frames++);
    }
    return rc;
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

static enum mt_rc get_expr(const struct file *f, const cJSON *v, uint32_t at,
                           struct mt_metric_row *row)
{
    struct names names = {{f->conf, f->r}, at};
    struct mt_expr *e = NULL, **slot;
    struct mt_err why = {.rc = MT_OK};
    const char *text;
    enum mt_rc rc = get_text(f, "is", v, &text);
    if (rc == MT_OK && (rc = mt_expr_compile(&e, text, may_use, &names, &why)) != MT_OK)
        return rc == MT_ENOMEM ? nomem(f) : bad(f, "is", why.msg);
    if (rc == MT_OK && (slot = MT_VEC_PUSH(&f->r->exprs)) != NULL)
        row->is = *slot = e;
    else
        mt_expr_free(e);
    return rc == MT_OK && row->is == NULL ? nomem(f) : rc;
}

static enum mt_rc get_field(const struct file *f, const cJSON *c, uint32_t at,
                            struct mt_metric_row *row)
{
    static const char *const how[] = {[MT_METRIC_SEEN] = "seen",
                                      [MT_METRIC_ASKED] = "asked",
                                      [MT_METRIC_LIVE] = "live_through",
                                      [MT_METRIC_LARGEST] = "largest_through",
                                      [MT_METRIC_SINGLE] = "single_block_of",
                                      [MT_METRIC_IS] = "is"};
    const char **text = mt_rule_same(c->string, "name")     ? &row->name
                        : mt_rule_same(c->string, "says")   ? &row->says
                        : mt_rule_same(c->string, "unit")   ? &row->unit
                        : mt_rule_same(c->string, "one_of") ? &row->one_of
                                                            : NULL;
    if (text != NULL)
        return get_text(f, c->string, c, text);
    if (mt_rule_same(c->string, "with_request") && cJSON_IsBool(c)) {
        row->with_request = cJSON_IsTrue(c);
        return MT_OK;
    }
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        if (!mt_rule_same(c->string, how[i]))
            continue;
        if (row->is != NULL || row->frames != NULL)
            return bad(f, c->string, "is a second way to compute it; one is enough");
        row->how = (enum mt_metric_how)i;
        return i == MT_METRIC_IS ? get_expr(f, c, at, row) : get_frames(f, c->string, c, row);
    }
    return bad(f, c->string,
               mt_rule_same(c->string, "with_request") ? "has to be true or false"
                                                       : "is not known; docs/rules.md has them");
}

static enum mt_rc check(const struct file *f, const struct mt_metric_row *row)
{
    bool of_blocks = row->how == MT_METRIC_LIVE || row->how == MT_METRIC_LARGEST;
    if (row->is == NULL && row->frames == NULL)
        return bad(f, "seen",
                   "is missing, and so are asked, live_through, largest_through, single_block_of "
                   "and is: one of them says how it is computed");
    if (row->says[0] == '\0')
        return bad(f, "says", "is missing");
    if (strlen(row->unit) != 1 || strchr("Bnr?", row->unit[0]) == NULL)
        return bad(f, "unit", "has to be B, n, r or ?");
    if (row->with_request && !of_blocks)
        return bad(f, "with_request", "goes with live_through and largest_through only");
    if (row->one_of[0] != '\0' && row->how != MT_METRIC_SEEN)
        return bad(f, "one_of", "goes with seen only");
    return MT_OK;
}

static bool is_name(const char *s)
{
    for (const char *c = s; *c != '\0'; c++)
        if ((*c < 'a' || *c > 'z') && *c != '_' && (c == s || *c < '0' || *c > '9'))
            return false;
    return *s != '\0';
}

static enum mt_rc read_row(struct file *f, const cJSON *obj)
{
    const cJSON *id = mt_rule_field(obj, "name"), *c;
    struct mt_metric_names program = {f->conf, NULL};
    struct mt_metric_row row = {.says = "", .unit = "", .one_of = ""}, *slot;
    enum mt_rc rc = MT_OK;
    int at;
    f->row = cJSON_IsString(id) ? id->valuestring : "(without a name)";
    if (!cJSON_IsString(id) || !is_name(f->row))
        return bad(f, "name", "has to be of small letters, digits and _");
    if (mt_metric_exists(&program, f->row, strlen(f->row)))
        return bad(f, "name", "is that of a number that the program itself measures");
    at = mt_metric_row_find(f->r, f->row, strlen(f->row));
    cJSON_ArrayForEach(c, obj)
    {
        if (rc == MT_OK)
            rc = get_field(f, c, at >= 0 ? (uint32_t)at : f->r->row.n, &row);
    }
    if (rc == MT_OK)
        rc = check(f, &row);
    if (rc != MT_OK)
        return rc;
    slot = at >= 0 ? &f->r->row.p[at] : MT_VEC_PUSH(&f->r->row);
    if (slot == NULL)
        return nomem(f);
    *slot = row;
    return MT_OK;
}

static enum mt_rc read_list(struct file *f, const cJSON *list)
{
    const cJSON *c;
    enum mt_rc rc = MT_OK;
    f->row = "(the list)";
    if (!cJSON_IsArray(list))
        return bad(f, "metrics", "has to be a list");
    cJSON_ArrayForEach(c, list)
    {
        if (rc == MT_OK)
            rc = read_row(f, c);
    }
    return rc;
}

enum mt_rc mt_metric_rules_load(struct mt_metric_rules **out, const struct mt_runconf *conf,
                                const char *overlay, size_t overlay_len, const char *overlay_name,
                                struct mt_err *err)
{
    struct mt_metric_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {.r = r, .conf = conf, .name = "metrics.json", .err = err};
    cJSON *root = NULL;
    enum mt_rc rc;
    *out = NULL;
    if (r == NULL)
        return nomem(&f);
    rc = mt_rule_json(f.name, &root, err);
    if (rc == MT_OK)
        rc = read_list(&f, mt_rule_field(root, "metrics"));
    mt_free(root);
    if (rc == MT_OK && overlay != NULL) {
        f.name = overlay_name;
        rc = mt_json_text(&root, overlay, overlay_len, overlay_name, err);
        if (rc == MT_OK && mt_rule_field(root, "metrics") != NULL)
            rc = read_list(&f, mt_rule_field(root, "metrics"));
        if (root != NULL)
            cJSON_Delete(root);
    }
    if (rc != MT_OK)
        mt_metric_rules_free(r);
    else
        *out = r;
    return rc;
}
