/* log/frames.c -- lines that are frames, in the forms in which Python, notebooks, pytest and rich
 * print them. */
#include "parser/log/match.h"

#include <string.h>

/* "update_actor", "<module>", "<lambda>"; identifiers may be of any alphabet. */
static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '<' || c == '>' || c == '.' || (unsigned char)c >= 0x80;
}

/* Nothing of a path that people paste: a blank, a quotation mark of Python's or of Markdown's. */
static bool ends_path(char c) { return strchr(" \t\"'`>(", c) != NULL; }

size_t mt_log_slashes(char *out, size_t cap, const char *path, const char *end)
{
    size_t n = 0;
    for (path = (size_t)(end - path) > cap ? end - cap : path; path < end; path++)
        if (*path != '\\')
            out[n++] = *path;
        else if (n == 0 || out[n - 1] != '/')
            out[n++] = '/';
    return n;
}

/* What is left of a frame whose head was cut off, or that was copied into a sentence:
 * `ob/workers.py", line 504, in update_actor`. Its path begins behind what cannot be in one. */
static bool headless(struct mt_log_at *a, const char *s)
{
    const char *end = strstr(s, ".py\", ");
    if (end == NULL)
        return false;
    for (a->path = end; a->path > s && !ends_path(a->path[-1]);)
        a->path--;
    a->end = end + 3;
    return a->path < end;
}

/* "load_unetRuntimeError: CUDA ...", "__deepcopy__torch.OutOfMemoryError: ...": of a name that the
 * error's class was glued to, the bytes that are the function's. */
static size_t without_class(const char *name, size_t n)
{
    static const char *const classes[] = {"torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError",
                                          "OutOfMemoryError", "RuntimeError", "MemoryError"};
    for (size_t i = 0; name[n] == ':' && i < sizeof classes / sizeof *classes; i++) {
        size_t k = strlen(classes[i]);
        if (n > k && memcmp(name + n - k, classes[i], k) == 0)
            return n - k;
    }
    return n;
}

/* `File "/x/job/workers.py", line 504, in update_actor`, also without the blank or with more of
 * them */
bool mt_log_frame_quoted(struct mt_log_at *a, const char *s)
{
    const char *p = strstr(s, "File \""), *typed = p == NULL ? strstr(s, "File\"") : NULL;
    struct mt_log_got g;
    a->path = p != NULL ? p + 6 : typed != NULL ? typed + 5 : NULL;
    a->end = a->path != NULL ? strchr(a->path, '"') : NULL;
    if (a->path == NULL && !headless(a, s))
        return false;
    if (a->end == NULL || a->end == a->path ||
        mt_log_value_at(a->end, "\", line %n, in ") == MT_LOG_NONE ||
        (a->name = mt_log_find(a->end, "\", line %n, in ", &g)) == NULL)
        return false;
    a->name += *a->name == '`';
    for (a->n_name = 0; in_name(a->name[a->n_name]);) /* a line that was glued on may follow */
        a->n_name++;
    a->n_name = without_class(a->name, a->n_name);
    a->line = g.v[0];
    return a->n_name != 0;
}

/* IPython: `File /x/deepspeed/runtime/engine.py:1184, in DeepSpeedEngine._configure_optimizer(self,
 * client_optimizer)` */
bool mt_log_frame_of_ipython(struct mt_log_at *a, const char *s)
{
    const char *p = strstr(s, "File ");
    struct mt_log_got g;
    if (p == NULL || (p[5] != '/' && p[5] != '~'))
        return false;
    a->path = p + 5;
    a->end = a->path + strcspn(a->path, ": ");
    if (a->end - a->path < 4 || strncmp(a->end - 3, ".py:", 4) != 0 ||
        (a->name = mt_log_find(a->end, ":%n, in ", &g)) == NULL)
        return false;
    a->n_name = strcspn(a->name, "( \t");
    for (const char *dot; (dot = memchr(a->name, '.', a->n_name)) != NULL; a->name = dot + 1)
        a->n_name -= (size_t)(dot + 1 - a->name);
    a->line = g.v[0];
    return true;
}

/* Older ones, and Colab: `/usr/lib/transformers/trainer.py in train(self, x)`,
 * `[/usr/lib/a.py](https://localhost:8080/#) in f(x)`, `<ipython-input-3-5ad> in <module>` */
static bool of_notebook(struct mt_log_at *a, const char *s)
{
    bool is_link = *s == '[';
    const char *p = s + is_link, *end = NULL, *in;
    if (strncmp(p, "<ipython-input-", 15) == 0)
        end = strchr(p, '>') != NULL ? strchr(p, '>') + 1 : NULL;
    else if (*p == '/' || *p == '~')
        end = strstr(p, ".py") != NULL ? strstr(p, ".py") + 3 : NULL;
    if (end == NULL || (size_t)(end - p) != strcspn(p, " ]"))
        return false;
    a->path = p;
    a->end = end;
    in = is_link ? strstr(a->end, "#) in ") : a->end;
    in = in != NULL && is_link ? in + 2 : in;
    if (in == NULL || strncmp(in, " in ", 4) != 0)
        return false;
    a->name = in + 4;
    a->n_name = *a->name == '<' ? strcspn(a->name, ">") + 1 : strcspn(a->name, "( \t");
    a->line = 0; /* an arrow further down has it */
    return a->n_name > 1 && (a->name[a->n_name] == '(' || a->name[0] == '<') &&
           a->n_name <= strlen(a->name);
}

/* `Cell In[7], line 12`, `Input In [3], in <cell line: 5>()`, `Cell In[7], line 12, in f(x)`: code
 * of the notebook itself. */
static bool of_cell(struct mt_log_at *a, const char *s)
{
    static const char cell[] = "<cell>", module[] = "<module>";
    const char *p = strncmp(s, "Cell ", 5) == 0    ? s + 5
                    : strncmp(s, "Input ", 6) == 0 ? s + 6
                                                   : NULL,
               *in;
    struct mt_log_got g = {0};
    if (p == NULL || strncmp(p, "In", 2) != 0 || (p = strstr(p, "], ")) == NULL)
        return false;
    p += 3;
    in = strncmp(p, "in ", 3) == 0 ? p : strstr(p, ", in ");
    if (in != p && mt_log_find(p, "line %n", &g) == NULL)
        return false;
    a->path = cell;
    a->end = cell + sizeof cell - 1;
    a->line = in != p ? g.v[0] : 0;
    a->name = in == NULL ? module : in + (in == p ? 3 : 5);
    if (*a->name == '<')
        a->name = module;
    a->n_name = strcspn(a->name, "( \t\r:");
    return a->n_name != 0;
}

/* pytest: `.venv/lib/transformers/trainer.py:1742: in _inner_training_loop`, the innermost without
 * a name: `torch/nn/functional.py:9: OutOfMemoryError` */
static bool of_pytest(struct mt_log_at *a, const char *s)
{
    const char *end = strstr(s, ".py:"), *path = end;
    struct mt_log_got g;
    if (end == NULL || (a->name = mt_log_find(end + 3, ":%n: in ", &g)) == NULL || end[4] < '0' ||
        end[4] > '9')
        return false;
    while (path > s && path[-1] != ' ' && path[-1] != '\t')
        path--;
    a->path = path;
    a->end = end + 3;
    a->n_name = strcspn(a->name, " \t\r");
    a->line = g.v[0];
    return a->n_name != 0 && in_name(a->name[0]) && a->name[a->n_name] == '\0' &&
           strstr(end + 3, ":") == end + 3;
}

/* rich, as Colab and several trainers print it: a box with `/usr/lib/a.py:1645 in train`; where the
 * box is too narrow the name stands alone in the next line, or "in" does. glued has them in a row.
 */
static bool of_rich(struct mt_log_at *a, const char *s, const char *glued)
{
    static const char bar[] = "\xe2\x94\x82"; /* the box's side */
    const char *p = strstr(s, bar), *end;
    struct mt_log_got g;
    if (p == NULL)
        return false;
    p += sizeof bar - 1;
    p += strspn(p, " ");
    end = strstr(p, ".py:");
    if ((*p != '/' && *p != '~' && !(p[0] >= 'A' && p[0] <= 'Z' && p[1] == ':')) || end == NULL ||
        strcspn(p, " ") <= (size_t)(end - p))
        return false;
    a->path = p;
    a->end = end + 3;
    a->name = mt_log_find(a->end, ":%n in ", &g);
    if (a->name == NULL || a->name[0] == ' ' || strncmp(a->name, bar, sizeof bar - 1) == 0) {
        /* `│ /x/a.py:9 in      │ │ name     │` */
        const char *next = strstr(glued, bar);
        if (mt_log_find(a->end, ":%n", &g) == NULL || next == NULL ||
            (next = strstr(next + 3, bar)) == NULL || (next = strstr(next + 3, bar)) == NULL)
            return false;
        next += 3 + strspn(next + 3, " ");
        a->name = strncmp(next, "in ", 3) == 0 ? next + 3 : next;
    }
    for (a->n_name = 0; in_name(a->name[a->n_name]) && (unsigned char)a->name[a->n_name] < 0x80;)
        a->n_name++;
    a->line = g.v[0];
    return a->n_name != 0;
}

/* Behind the prefix of a writer, "(Worker pid=7) ", "[rank0]: ", and behind Markdown's: "> ", "- ",
 * "`". */
static const char *behind_prefix(const char *s)
{
    for (;;) {
        const char *e;
        s += strspn(s, " \t:>`");
        s += (*s == '-' || *s == '*') && s[1] == ' ';
        s += strspn(s, " \t:`");
        e = *s == '(' ? strchr(s, ')') : *s == '[' ? strchr(s, ']') : NULL;
        if (e == NULL)
            return s;
        s = e + 1;
    }
}

/* A name that ends the line, or a call's bracket. */
static bool is_named(struct mt_log_at *a, const char *name)
{
    const char *e;
    a->name = name;
    for (a->n_name = 0; in_name(name[a->n_name]) && (unsigned char)name[a->n_name] < 0x80;)
        a->n_name++;
    e = name + a->n_name;
    return a->n_name != 0 && (*e == '(' || e[strspn(e, " \t\r`")] == '\0');
}

/* Bytes of a mark around a path, as word processors, pages and people write Python's. */
static size_t mark_at(const char *s)
{
    static const char *const marks[] = {"\"", "'", "\xe2\x80\x9c", "\xe2\x80\x9d", "&quot;", NULL};
    return mt_log_word_at(s, marks);
}

/* `File 'x.py', line 9, in step`; `File "x.py", line 9`, without the name. */
static bool marked(struct mt_log_at *a, const char *p)
{
    static const char none[] = "<cut>";
    size_t n = strncmp(p, "File ", 5) == 0 ? mark_at(p + 5) : 0;
    struct mt_log_got g;
    const char *in, *end;
    if (n == 0)
        return false;
    a->path = p + 5 + n;
    a->end = strstr(a->path, ".py");
    if (a->end == NULL || mark_at(a->end + 3) == 0 ||
        strcspn(a->path, " ") < (size_t)(a->end - a->path))
        return false;
    a->end += 3;
    end = a->end + mark_at(a->end);
    if ((in = mt_log_find(end, ", line %n", &g)) == NULL)
        return false;
    a->line = g.v[0];
    if (in[strspn(in, " \t\r,")] == '\0') {
        a->name = none;
        a->n_name = sizeof none - 1;
        return true;
    }
    return strncmp(in, ", in ", 5) == 0 && is_named(a, in + 5);
}

bool mt_log_frame_cut(struct mt_log_at *a, const char *s)
{
    static const char none[] = "<cut>";
    const char *p = behind_prefix(s), *py, *in;
    struct mt_log_got g;
    size_t n;
    if (strncmp(p, "at ", 3) == 0) {
        (void)is_named(a, p + 3);
        py = strstr(p, ".py:");
        in = p + 3 + a->n_name;
        if (a->n_name == 0 || py == NULL || strncmp(in, " (", 2) != 0 ||
            strcspn(in + 2, " ") < (size_t)(py - in) - 2 || mt_log_find(py, ":%n)", &g) == NULL)
            return false;
        a->path = in + 2;
        a->end = py + 3;
        a->line = g.v[0];
        return true;
    }
    if (strncmp(p, "line ", 5) == 0 && (in = mt_log_find(p, "line %n, in ", &g)) != NULL) {
        a->path = none;
        a->end = none + sizeof none - 1;
        a->line = g.v[0];
        return is_named(a, in);
    }
    if (marked(a, p))
        return true;
    if (strncmp(p, "File ", 5) == 0 && p[5] != '"' && (py = strstr(p, ".py, line ")) != NULL &&
        strcspn(p + 5, " ") > (size_t)(py - p) - 5 &&
        (in = mt_log_find(py, ".py, line %n, in ", &g)) != NULL) {
        a->path = p + 5;
        a->end = py + 3;
        a->line = g.v[0];
        return is_named(a, in);
    }
    n = strcspn(p, " ");
    py = strstr(p, ".py:");
    if (py == NULL || (size_t)(py - p) >= n || (in = mt_log_find(py, ".py:%n in ", &g)) == NULL)
        return false;
    a->path = p;
    a->end = py + 3;
    a->line = g.v[0];
    return is_named(a, in);
}

/* What people draw before a place: "-> ", "=> ", an arrow. */
static const char *behind_arrow(const char *s)
{
    const char *p = s + strspn(s, "-=");
    if (p > s && *p == '>')
        p++;
    else if (strncmp(s, "\xe2\x86\x92", 3) == 0)
        p = s + 3;
    else
        return s;
    return p + strspn(p, " ");
}

const char *mt_log_frame_typed(struct mt_log_at *a, const char *s)
{
    static const char none[] = "";
    static const char *const joins[] = {".py:%n", ".py line %n", ".py, line %n", ".py(%n)"};
    const char *p = behind_prefix(s), *arrow, *py, *code = NULL;
    struct mt_log_got g;
    arrow = behind_arrow(p);
    p = behind_prefix(arrow);
    py = strstr(p, ".py");
    if (py == NULL || (size_t)(py - p) >= strcspn(p, " (\"'"))
        return NULL;
    for (size_t i = 0; code == NULL && i < sizeof joins / sizeof *joins; i++)
        code = strncmp(py, joins[i], strcspn(joins[i], "%")) == 0 ? mt_log_find(py, joins[i], &g)
                                                                  : NULL;
    if (code == NULL)
        return NULL;
    code += *code == ':';
    code += strspn(code, " ");
    code = behind_arrow(code);
    if (!mt_log_is_bare_code(code))
        return NULL;
    a->path = p;
    a->end = py + 3;
    a->name = none;
    a->n_name = 0;
    a->line = g.v[0];
    return code;
}

bool mt_log_frame_of_page(struct mt_log_at *a, const char *s)
{
    return of_notebook(a, s) || of_cell(a, s);
}

bool mt_log_frame_boxed(struct mt_log_at *a, const char *s, const char *glued)
{
    return of_pytest(a, s) || of_rich(a, s, glued);
}
