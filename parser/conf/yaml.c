/* conf/yaml.c -- YAML events to dotted keys. Anchors are not expanded: an alias is a value that is
 * not known. */
#include "parser/conf/impl.h"

#include <string.h>
#include <yaml.h>

struct level {
    bool is_map, wants_value;
    size_t path;                /* length of the path at this level */
    uint64_t index;             /* of the next element of a list */
    uint32_t line;              /* of a list's start */
    bool has_text, is_variable; /* a list of scalars so far: text holds it */
    struct mt_text text;
};

struct yaml {
    struct mt_config *c;
    const char *source;
    char path[MT_CONF_KEY + 1];
    size_t n_path; /* may be larger than the buffer: then keys are dropped */
    struct level level[MT_CONF_DEPTH];
    unsigned depth;
    unsigned skipped; /* containers open beyond the depth */
};

static void push_path(struct yaml *y, const char *s, size_t n)
{
    size_t dot = y->n_path != 0, at = y->n_path;
    y->n_path = at + dot + n;
    if (y->n_path > MT_CONF_KEY)
        return;
    if (dot)
        y->path[at] = '.';
    memcpy(y->path + at + dot, s, n);
}

static void push_index(struct yaml *y, uint64_t v)
{
    char buf[24];
    size_t i = sizeof buf;
    do
        buf[--i] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    push_path(y, buf + i, sizeof buf - i);
}

static struct level *top(struct yaml *y) { return y->depth != 0 ? &y->level[y->depth - 1] : NULL; }

static int emit(struct yaml *y, const char *value, size_t n, uint32_t line, bool is_variable)
{
    struct mt_conf_at at = {
        .source = y->source, .line = line, .form = MT_CONF_PATH, .is_variable = is_variable};
    if (y->n_path == 0 || y->n_path > MT_CONF_KEY) {
        y->c->n_dropped += y->n_path != 0;
        return 1;
    }
    return mt_conf_add(y->c, y->path, y->n_path, value, n, &at) == MT_OK;
}

/* A value is complete: the path goes back to the container's own, and a mapping waits for its next
 * key. */
static void value_done(struct yaml *y)
{
    struct level *l = top(y);
    if (l == NULL)
        return;
    y->n_path = l->path;
    l->wants_value = false;
}

static bool is_interpolation(const char *s, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (s[i] == '$' && s[i + 1] == '{')
            return true;
    return false;
}

static int scalar(struct yaml *y, const char *s, size_t n, uint32_t line, bool is_variable)
{
    struct level *l = top(y);
    int ok;
    is_variable |= is_interpolation(s, n);
    if (l == NULL)
        return 1; /* a document that is one word: nothing to know */
    if (!l->is_map) {
        mt_text_add(&l->text, l->has_text ? ", " : "[", l->has_text ? 2 : 1);
        mt_text_add(&l->text, s, n);
        l->has_text = true;
        l->is_variable |= is_variable;
        l->index++;
        return !l->text.failed;
    }
    if (!l->wants_value) {
        push_path(y, s, n);
        l->wants_value = true;
        return 1;
    }
    ok = emit(y, s, n, line, is_variable);
    value_done(y);
    return ok;
}

static void open(struct yaml *y, bool is_map, uint32_t line)
{
    struct level *l = top(y);
    if (y->skipped != 0 || y->depth == MT_CONF_DEPTH) {
        y->skipped++;
        return;
    }
    if (l != NULL && !l->is_map)
        push_index(y, l->index++);
    l = &y->level[y->depth++];
    memset(l, 0, sizeof *l);
    l->is_map = is_map;
    l->path = y->n_path;
    l->line = line;
    l->text.max = MT_CONF_VALUE;
}

static int close(struct yaml *y)
{
    struct level *l;
    int ok = 1;
    if (y->skipped != 0) {
        if (--y->skipped == 0) {
            y->c->n_dropped++;
            value_done(y);
        }
        return 1;
    }
    l = top(y);
    if (l == NULL)
        return 1;
    y->n_path = l->path;
    if (!l->is_map && (l->has_text || l->index == 0)) {
        if (!l->has_text)
            mt_text_add(&l->text, "[", 1);
        mt_text_add(&l->text, "]", 1);
        ok = !l->text.failed && emit(y, l->text.p, l->text.n, l->line, l->is_variable);
        y->c->n_cut += l->text.cut;
    }
    mt_text_done(&l->text);
    y->depth--;
    value_done(y);
    return ok;
}

static int on_event(struct yaml *y, const yaml_event_t *e)
{
    uint32_t line = e->start_mark.line < UINT32_MAX ? (uint32_t)e->start_mark.line + 1 : 0;
    switch ((int)e->type) {
    case YAML_SCALAR_EVENT:
        return y->skipped != 0 ||
               scalar(y, (const char *)e->data.scalar.value, e->data.scalar.length, line, false);
    case YAML_ALIAS_EVENT:
        return y->skipped != 0 || scalar(y, (const char *)e->data.alias.anchor,
                                         strlen((const char *)e->data.alias.anchor), line, true);
    case YAML_MAPPING_START_EVENT: open(y, true, line); return 1;
    case YAML_SEQUENCE_START_EVENT: open(y, false, line); return 1;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: return close(y);
    default: return 1;
    }
}

/* libyaml takes quadratic time over open brackets. Quotes are not looked at: no file of settings
 * has that many in its texts either. */
static bool is_too_deep(const char *text, size_t n)
{
    unsigned depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '[' || text[i] == '{')
            depth++;
        else if ((text[i] == ']' || text[i] == '}') && depth > 0)
            depth--;
        if (depth > 4 * MT_CONF_DEPTH)
            return true;
    }
    return false;
}

enum mt_rc mt_conf_yaml(struct mt_config *c, const char *text, size_t n, const char *source,
                        struct mt_err *err)
{
    struct yaml *y = mt_calloc(1, sizeof *y);
    yaml_parser_t p;
    enum mt_rc rc = MT_OK;
    uint32_t n_before = c->entries.n;
    bool any = false, end = false;
    if (is_too_deep(text, n)) {
        mt_free(y);
        return mt_fail(err, MT_EINPUT,
                       "more than %u brackets are open at once: this is no file of settings",
                       4 * MT_CONF_DEPTH);
    }
    if (y == NULL || !yaml_parser_initialize(&p)) {
        mt_free(y);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    y->c = c;
    y->source = source;
    yaml_parser_set_input_string(&p, (const unsigned char *)text, n);
    while (rc == MT_OK && !end) {
        yaml_event_t e;
        if (!yaml_parser_parse(&p, &e)) {
            if (p.error == YAML_MEMORY_ERROR)
                rc = mt_fail(err, MT_ENOMEM, "out of memory");
            else
                rc = mt_fail(err, MT_EINPUT, "line %lu: this is no YAML: %.200s",
                             (unsigned long)p.problem_mark.line + 1,
                             p.problem != NULL ? p.problem : "it cannot be parsed");
            break;
        }
        if (!on_event(y, &e))
            rc = mt_fail(err, MT_ENOMEM, "out of memory");
        any |= e.type == YAML_MAPPING_START_EVENT;
        end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    while (y->depth != 0)
        mt_text_done(&y->level[--y->depth].text);
    yaml_parser_delete(&p);
    mt_free(y);
    if (rc == MT_OK && !any && c->entries.n == n_before)
        rc = mt_fail(err, MT_EINPUT,
                     "this is no file of settings: memtrace reads YAML and JSON mappings (key: "
                     "value) and shell scripts (.sh, or "
                     "beginning with #!)");
    return rc;
}
