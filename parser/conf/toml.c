/* conf/toml.c -- TOML to dotted keys. An array of tables has the number of its element as a
 * component, as lists have it in YAML. A table without keys is a key with an empty value, as a flag
 * alone is: it switches on what it names. */
#include "parser/conf/impl.h"
#include "parser/conf/toml_check.h"

#include <string.h>

#define MAX_ARRAYS 256u
/* A dot in a quoted name, and a name of no letters, as a path has them: bytes that UTF-8 has not.
 */
#define DOT ((char)0xFF)
#define NOTHING ((char)0xFE)

struct array {
    const char *path; /* of "[[a.b]]", with the numbers of the arrays around it */
    size_t n_path;    /* compared first: a file can have a header in every fourth byte */
    uint64_t n;       /* elements so far */
};

struct toml {
    struct mt_config *c;
    const char *p, *end, *source, *wrong; /* wrong: what the file is not, at p */
    uint32_t line;
    char path[MT_CONF_KEY + 1];
    size_t n_path; /* may be larger than the buffer: then keys are dropped */
    struct array arrays[MAX_ARRAYS];
    uint32_t n_arrays, empty_line;
    /* the table whose header was read last, as long as nothing was in it */
    char empty[MT_CONF_KEY + 1];
    size_t n_empty;
    struct mt_toml_names names;
    bool no_memory;
};

static bool fail(struct toml *t, const char *wrong)
{
    if (t->wrong == NULL)
        t->wrong = wrong;
    return false;
}

/* What mt_toml_set() and mt_toml_open() say. */
static bool is_fine(struct toml *t, const char *wrong)
{
    if (wrong == NULL)
        return true;
    t->no_memory = wrong == mt_toml_no_memory;
    return fail(t, wrong);
}

static int peek(const struct toml *t) { return t->p < t->end ? (unsigned char)*t->p : -1; }

static void skip_blanks(struct toml *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
        t->p++;
}

/* Blanks, comments and ends of lines. */
static void skip_lines(struct toml *t)
{
    for (; t->p < t->end; t->p++) {
        if (*t->p == '#')
            while (t->p + 1 < t->end && t->p[1] != '\n')
                t->p++;
        else if (*t->p == '\n')
            t->line++;
        else if (*t->p != ' ' && *t->p != '\t' && *t->p != '\r')
            return;
    }
}

static void push_path(struct toml *t, const char *s, size_t n)
{
    size_t dot = t->n_path != 0, at = t->n_path;
    t->n_path = at + dot + n;
    if (t->n_path > MT_CONF_KEY)
        return;
    if (dot)
        t->path[at] = '.';
    memcpy(t->path + at + dot, s, n);
}

static void push_index(struct toml *t, uint64_t v)
{
    char buf[24];
    size_t i = sizeof buf;
    do
        buf[--i] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    push_path(t, buf + i, sizeof buf - i);
}

static bool emit(struct toml *t, const char *value, size_t n, uint32_t line)
{
    struct mt_conf_at at = {.source = t->source, .line = line, .form = MT_CONF_TOML};
    char key[MT_CONF_KEY];
    size_t n_key = 0;
    if (t->n_path == 0 || t->n_path > MT_CONF_KEY) {
        t->c->n_dropped += t->n_path != 0;
        return true;
    }
    for (size_t i = 0; i < t->n_path; i++)
        if (t->path[i] != NOTHING)
            key[n_key++] = t->path[i] == DOT ? '.' : t->path[i];
    t->no_memory = mt_conf_add(t->c, key, n_key, value, n, &at) != MT_OK;
    return !t->no_memory;
}

/* ---- strings and keys ---- */

/* Nothing but blanks stands before the end of the line. */
static bool ends_line(const struct toml *t)
{
    const char *s = t->p;
    while (s < t->end && (*s == ' ' || *s == '\t' || *s == '\r'))
        s++;
    return s < t->end && *s == '\n';
}

/* is_long: a line may go on. */
static bool add_escape(struct toml *t, struct mt_text *out, bool is_long)
{
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
    const char *at = strchr(from, *t->p);
    char bytes[4];
    size_t n;
    if (at != NULL && *t->p != '\0') {
        mt_text_add(out, to + (at - from), 1);
        t->p++;
    } else if (is_long && ends_line(t)) {
        for (; t->p < t->end && strchr(" \t\r\n", *t->p) != NULL; t->p++)
            t->line += *t->p == '\n';
    } else if ((n = mt_toml_code(t->p, (size_t)(t->end - t->p), bytes)) != 0) {
        mt_text_add(out, bytes, n);
        t->p += *t->p == 'x' ? 3 : *t->p == 'u' ? 5 : 9;
    } else {
        return fail(t, "a string has a backslash that begins no escape");
    }
    return true;
}

/* The string at p, in any of its four forms. */
static bool string(struct toml *t, struct mt_text *out)
{
    char quote = *t->p;
    bool is_long = t->end - t->p >= 3 && t->p[1] == quote && t->p[2] == quote;
    t->p += is_long ? 3 : 1;
    if (is_long && peek(t) == '\r' && t->end - t->p >= 2 && t->p[1] == '\n')
        t->p++;
    if (is_long && peek(t) == '\n') {
        t->line++;
        t->p++;
    }
    while (t->p < t->end) {
        if (*t->p == quote &&
            (!is_long || (t->end - t->p >= 3 && t->p[1] == quote && t->p[2] == quote))) {
            /* up to two more belong to the string */
            for (int i = 0; is_long && i < 2 && t->end - t->p > 3 && t->p[3] == quote; i++)
                mt_text_add(out, t->p++, 1);
            t->p += is_long ? 3 : 1;
            return true;
        }
        if (*t->p == '\n') {
            if (!is_long)
                break;
            t->line++;
        }
        if (*t->p == '\\' && quote == '"' && t->end - t->p >= 2) {
            t->p++;
            if (!add_escape(t, out, is_long))
                return false;
            continue;
        }
        mt_text_add(out, t->p++, 1);
    }
    return fail(t, "a string does not end");
}

static bool is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* One component of a key, behind the path. */
static bool component(struct toml *t)
{
    const char *start = t->p;
    if (peek(t) == '"' || peek(t) == '\'') {
        struct mt_text name = {.max = MT_CONF_KEY};
        bool ok;
        if (t->end - t->p >= 3 && t->p[1] == *t->p && t->p[2] == *t->p)
            return fail(t, "a key has three quotes");
        ok = string(t, &name) && !(t->no_memory = name.failed);
        for (size_t i = 0; i < name.n; i++)
            name.p[i] = name.p[i] == '.' ? DOT : name.p[i];
        if (ok && name.n == 0)
            push_path(t, (const char[]){NOTHING}, 1);
        else if (ok)
            push_path(t, name.p, name.cut ? MT_CONF_KEY + 1 : name.n);
        mt_text_done(&name);
        return ok;
    }
    while (is_bare(peek(t)))
        t->p++;
    if (t->p == start)
        return fail(t, "a key is expected");
    push_path(t, start, (size_t)(t->p - start));
    return true;
}

static struct array *array_at(struct toml *t)
{
    for (uint32_t i = 0; t->n_path <= MT_CONF_KEY && i < t->n_arrays; i++)
        if (t->arrays[i].n_path == t->n_path && memcmp(t->arrays[i].path, t->path, t->n_path) == 0)
            return &t->arrays[i];
    return NULL;
}

/* "a.b . c" behind the path. is_header: names of arrays stand for their last elements, but for the
 * last name. */
static bool key(struct toml *t, bool is_header)
{
    for (;;) {
        struct array *a;
        skip_blanks(t);
        if (!component(t))
            return false;
        skip_blanks(t);
        if (peek(t) != '.')
            return true;
        t->p++;
        a = is_header ? array_at(t) : NULL;
        if (a != NULL)
            push_index(t, a->n - 1);
    }
}

/* ---- values ---- */

static bool value(struct toml *t, unsigned depth);

static bool pair(struct toml *t, unsigned depth)
{
    size_t path = t->n_path;
    bool ok = key(t, false);
    if (ok && peek(t) != '=')
        ok = fail(t, "'=' is expected");
    if (ok && t->n_path <= MT_CONF_KEY)
        ok = is_fine(t, mt_toml_set(&t->names, t->path, path, t->n_path));
    if (ok) {
        t->p++;
        ok = value(t, depth);
    }
    t->n_path = path;
    return ok;
}

static bool inline_table(struct toml *t, unsigned depth)
{
    uint32_t line = t->line;
    t->p++;
    for (bool is_empty = true;; is_empty = false) {
        skip_lines(t);
        if (peek(t) == '}') {
            t->p++;
            return !is_empty || emit(t, "", 0, line);
        }
        if (!pair(t, depth + 1))
            return false;
        skip_lines(t);
        if (peek(t) == ',')
            t->p++;
        else if (peek(t) != '}')
            return fail(t, "an inline table does not end");
    }
}

/* A number, a date, true or false; 1_000 is 1000. */
static bool word(struct toml *t, struct mt_text *out)
{
    const char *start = t->p;
    bool is_number;
    while (t->p < t->end && strchr(",]}#\r\n", *t->p) == NULL)
        t->p++;
    while (t->p > start && (t->p[-1] == ' ' || t->p[-1] == '\t'))
        t->p--;
    if (t->p == start)
        return fail(t, "a value is expected");
    if (!mt_toml_is_value(start, (size_t)(t->p - start)))
        return fail(t, "what is no number, date, true or false stands in quotes");
    is_number = (*start >= '0' && *start <= '9') || *start == '+' || *start == '-' || *start == '.';
    for (const char *p = start; p < t->p; p++)
        if (!is_number || *p != '_')
            mt_text_add(out, p, 1);
    return true;
}

/* A list of scalars is one text; elements that are lists or tables have keys of their own. */
static bool list(struct toml *t, unsigned depth)
{
    struct mt_text text = {.max = MT_CONF_VALUE};
    size_t path = t->n_path;
    uint32_t line = t->line;
    uint64_t n = 0;
    bool ok = true, is_nested = false;
    t->p++;
    while (ok) {
        skip_lines(t);
        if (peek(t) == ']')
            break;
        if (peek(t) == '[' || peek(t) == '{') {
            is_nested = true;
            push_index(t, n);
            ok = value(t, depth + 1);
            t->n_path = path;
        } else {
            mt_text_add(&text, text.n != 0 ? ", " : "[", text.n != 0 ? 2 : 1);
            ok = peek(t) == '"' || peek(t) == '\'' ? string(t, &text) : word(t, &text);
        }
        n++;
        skip_lines(t);
        if (ok && peek(t) == ',')
            t->p++;
        else if (ok && peek(t) != ']')
            ok = fail(t, "a list does not end");
    }
    if (ok)
        t->p++;
    if (ok && (text.n != 0 || !is_nested)) {
        mt_text_add(&text, text.n != 0 ? "]" : "[]", text.n != 0 ? 1 : 2);
        t->no_memory = text.failed;
        t->c->n_cut += text.cut;
        ok = !text.failed && emit(t, text.p, text.n, line);
    }
    mt_text_done(&text);
    return ok;
}

static bool value(struct toml *t, unsigned depth)
{
    struct mt_text text = {.max = MT_CONF_VALUE};
    uint32_t line = t->line;
    bool ok;
    if (depth >= MT_CONF_DEPTH)
        return fail(t, "too deep");
    skip_blanks(t);
    if (peek(t) == '[')
        return list(t, depth);
    if (peek(t) == '{')
        return inline_table(t, depth);
    ok = peek(t) == '"' || peek(t) == '\'' ? string(t, &text) : word(t, &text);
    t->c->n_cut += text.cut;
    t->no_memory = t->no_memory || text.failed;
    ok = ok && !text.failed && emit(t, text.p != NULL ? text.p : "", text.n, line);
    mt_text_done(&text);
    return ok;
}

/* ---- tables ---- */

/* Nothing was in the table before. That others are below it is no switch. */
static bool end_table(struct toml *t)
{
    char next[MT_CONF_KEY + 1];
    size_t n = t->n_path, n_empty = t->n_empty;
    bool is_below = n > n_empty && n <= MT_CONF_KEY && memcmp(t->path, t->empty, n_empty) == 0 &&
                    t->path[n_empty] == '.';
    bool ok;
    t->n_empty = 0;
    if (n_empty == 0 || is_below)
        return true;
    memcpy(next, t->path, sizeof next);
    memcpy(t->path, t->empty, n_empty);
    t->n_path = n_empty;
    ok = emit(t, "", 0, t->empty_line);
    memcpy(t->path, next, sizeof next);
    t->n_path = n;
    return ok;
}

/* The next element of an array of tables, or of the one whose last element is meant. */
static bool enter_array(struct toml *t, bool is_next)
{
    struct array *a = array_at(t);
    if (is_next && a == NULL && t->n_path <= MT_CONF_KEY) {
        if (t->n_arrays == MAX_ARRAYS) {
            t->c->n_dropped++;
            return true;
        }
        a = &t->arrays[t->n_arrays];
        *a = (struct array){.path = mt_arena_strndup(&t->c->strings, t->path, t->n_path),
                            .n_path = t->n_path};
        t->no_memory = a->path == NULL;
        if (t->no_memory)
            return false;
        t->n_arrays++;
    }
    if (a != NULL)
        push_index(t, is_next ? a->n++ : a->n - 1);
    return true;
}

/* "[a.b]" or "[[a.b]]". */
static bool header(struct toml *t)
{
    bool is_array = t->end - t->p >= 2 && t->p[1] == '[';
    uint32_t line = t->line;
    t->p += is_array ? 2 : 1;
    t->n_path = 0;
    if (!key(t, true))
        return false;
    if (peek(t) != ']' || (is_array && (t->end - t->p < 2 || t->p[1] != ']')))
        return fail(t, "']' is expected");
    t->p += is_array ? 2 : 1;
    if (t->n_path <= MT_CONF_KEY &&
        !is_fine(t, mt_toml_open(&t->names, t->path, t->n_path, is_array)))
        return false;
    if (!enter_array(t, is_array) || !end_table(t))
        return false;
    if (!is_array && t->n_path <= MT_CONF_KEY) {
        memcpy(t->empty, t->path, t->n_path);
        t->n_empty = t->n_path;
        t->empty_line = line;
    }
    return true;
}

static bool statement(struct toml *t)
{
    bool ok;
    if (*t->p == '[') {
        ok = header(t);
    } else {
        t->n_empty = 0;
        ok = pair(t, 0);
    }
    skip_blanks(t);
    if (ok && t->p < t->end && strchr("#\r\n", *t->p) == NULL)
        ok = fail(t, "the end of the line is expected");
    return ok;
}

/* "# train.toml": people show several files one after another under their names. */
static bool is_heading(const char *p, const char *end)
{
    const char *name, *stop;
    if (p == end || *p != '#')
        return false;
    for (p++; p < end && (*p == '#' || *p == ' '); p++)
        ;
    for (name = p; p < end && *p != '\n' && *p != '\r' && *p != ' ' && *p != '\t'; p++)
        ;
    for (stop = p; p < end && (*p == ' ' || *p == '\t' || *p == '\r'); p++)
        ;
    return stop - name > 5 && memcmp(stop - 5, ".toml", 5) == 0 && (p == end || *p == '\n');
}

/* The file that begins at p ends where the heading of the next one begins. */
static const char *file_end(const char *p, const char *end)
{
    for (const char *line = memchr(p, '\n', (size_t)(end - p)); line != NULL && ++line < end;
         line = memchr(line, '\n', (size_t)(end - line)))
        if (is_heading(line, end))
            return line;
    return end;
}

static enum mt_rc one_file(struct mt_config *c, const char *text, size_t n, uint32_t line,
                           const char *source, struct mt_err *err)
{
    struct toml *t = mt_calloc(1, sizeof *t);
    enum mt_rc rc = MT_OK;
    bool ok = true;
    size_t bad = 0;
    const char *wrong = mt_toml_bad_byte(text, n, &bad);
    if (t == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    t->c = c;
    t->p = text;
    t->end = text + n;
    t->source = source;
    t->line = line;
    ok = mt_toml_names_init(&t->names);
    t->no_memory = !ok;
    if (wrong != NULL) /* what stands before it is read, as before any mistake */
        t->end = text + bad;
    while (ok) {
        skip_lines(t);
        if (t->p == t->end)
            break;
        ok = statement(t);
    }
    if (wrong != NULL && (ok || t->p == t->end)) {
        t->wrong = wrong;
        ok = false;
    }
    t->n_path = 0;
    ok = ok && end_table(t);
    if (t->no_memory)
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    else if (!ok)
        rc = mt_fail(err, MT_EINPUT, "line %lu: this is no TOML: %s", (unsigned long)t->line,
                     t->wrong != NULL ? t->wrong : "?");
    mt_toml_names_done(&t->names);
    mt_free(t);
    return rc;
}

enum mt_rc mt_conf_toml(struct mt_config *c, const char *text, size_t n, const char *source,
                        struct mt_err *err)
{
    const char *p = text, *end = text + n, *stop;
    uint32_t line = 1;
    enum mt_rc rc = MT_OK;
    do {
        stop = p < end ? file_end(p, end) : end;
        rc = one_file(c, p, (size_t)(stop - p), line, source, err);
        for (; p < stop; p++)
            line += *p == '\n';
    } while (rc == MT_OK && stop < end);
    return rc;
}
