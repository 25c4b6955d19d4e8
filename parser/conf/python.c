/* conf/python.c -- settings in a Python script: keyword arguments of classes that it makes
 * ("TrainingArguments(bf16=True)", "LLM(...)", "Model.from_pretrained(...)") and of calls that run
 * something ("model.generate(...)"), dicts of settings by name (ds_config = {"bf16": {"enabled":
 * True}}), plain assignments, os.environ, what it switches on ("pipe.enable_vae_tiling()"); and, as
 * defaults, what it sets options and fields of its own to
 * ("add_argument('--rows', default=8)", "rows: int = 8"). Nothing is run: a name stands for what
 * the script itself set it to in plain text, any other value is marked as not known. What the file
 * imports is what it starts. No text is an error: what is no such thing is passed over. */
#include "parser/conf/impl.h"

#include <string.h>

enum { MAX_VARS = 256, NAME = 128, SHOWN = 64 };

struct py_var {
    const char *name, *value; /* value NULL = not known */
};
/* What a bracket is of. */
enum py_call {
    PY_PLAIN,
    PY_CLASS,  /* a call that makes something of a class */
    PY_RUNS,   /* a call that does the work */
    PY_OPTION, /* a call that makes an option of the command line, or a field */
    PY_DEF,    /* the parameters of a function that runs something: what nobody else gives */
    PY_DICT,   /* a dict of settings */
};
struct py {
    struct mt_config *c;
    const char *p, *end;
    uint32_t line;
    struct mt_conf_at at;
    MT_VEC(struct py_var) vars;
    uint8_t call[MT_CONF_DEPTH]; /* enum py_call */
    uint16_t in[MT_CONF_DEPTH];  /* of a PY_DICT: bytes of the path that leads to it */
    char path[MT_CONF_KEY];      /* of the innermost one's last key, n_path bytes */
    size_t n_path;
    const char *dict;   /* where the next PY_DICT opens; NULL = none is ahead */
    unsigned depth;     /* brackets that are open; beyond MT_CONF_DEPTH only counted */
    const char *option; /* of the innermost PY_OPTION: its name; NULL = not read yet */
    size_t n_option;
    bool has_keyword;  /* a keyword argument stood before: what follows is no name */
    const char *field; /* of a statement "name: type = field(...)" */
    size_t n_field;
    bool any_call; /* all calls are PY_RUNS: the line is one that failed */
    bool begins;   /* a statement begins here */
    bool is_def;   /* it is a function's head */
    bool indented;
    bool failed;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_at(const struct py *y, const char *p, char c) { return p < y->end && *p == c; }

/* Bytes of the name at p, with its dots. */
static size_t name_at(const struct py *y, const char *p)
{
    const char *q = p;
    while (q < y->end && (is_letter(*q) || (q > p && (is_digit(*q) || *q == '.'))))
        q++;
    return (size_t)(q - p);
}

static const char *past_blanks(const struct py *y, const char *p)
{
    while (p < y->end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* Behind the string at p, whose quote that is; *from, *n: what it holds. */
static const char *past_string(struct py *y, const char *p, const char **from, size_t *n)
{
    char quote = *p;
    bool is_long = y->end - p >= 3 && p[1] == quote && p[2] == quote;
    p += is_long ? 3 : 1;
    *from = p;
    while (p < y->end && (is_long || *p != '\n') &&
           !(*p == quote && (!is_long || (y->end - p >= 3 && p[1] == quote && p[2] == quote)))) {
        if (*p == '\\' && p + 1 < y->end)
            p++;
        y->line += *p == '\n';
        p++;
    }
    if (p > y->end)
        p = y->end;
    *n = (size_t)(p - *from);
    if (p < y->end && *p == quote)
        p += is_long ? 3 : 1;
    return p;
}

static struct py_var *find_var(const struct py *y, const char *name, size_t n)
{
    for (uint32_t i = y->vars.n; i-- > 0;)
        if (strlen(y->vars.p[i].name) == n && memcmp(y->vars.p[i].name, name, n) == 0)
            return &y->vars.p[i];
    return NULL;
}

static const char *copy(struct py *y, const char *s, size_t n)
{
    const char *kept = mt_arena_strndup(&y->c->strings, s, n);
    y->failed |= kept == NULL;
    return kept;
}

/* value NULL = not known from here on. */
static void set_var(struct py *y, const char *name, size_t n, const char *value, size_t n_value)
{
    struct py_var *v = find_var(y, name, n);
    if (v == NULL) {
        if (value == NULL || y->vars.n >= MAX_VARS)
            return;
        v = MT_VEC_PUSH(&y->vars);
        y->failed |= v == NULL;
        if (v == NULL)
            return;
        v->name = copy(y, name, n);
        if (v->name == NULL) {
            y->vars.n--;
            return;
        }
    }
    v->value = value != NULL ? copy(y, value, n_value) : NULL;
}

/* What stands at p, up to what ends it: a number, a word of Python, text, a name that is known, or
 * a sum or product of whole numbers and such names ("rows * groups"). */
struct py_value {
    const char *p;
    size_t n;
    bool is_known, is_text;
};
static const char *value_of(const void *arg, const char *name, size_t n)
{
    const struct py *y = arg;
    const struct py_var *v = find_var(y, name, n);
    return v != NULL ? v->value : NULL;
}

static void compute(struct py *y, struct py_value *v)
{
    char out[MT_CONF_ARITH_MAX];
    if (memchr(v->p, '/', v->n) != NULL || memchr(v->p, '%', v->n) != NULL ||
        !mt_conf_arith(v->p, v->n, value_of, y, out))
        return; /* a quotient may be a fraction, and "%" puts texts together */
    v->n = strlen(out);
    v->p = copy(y, out, v->n);
    v->is_known = v->p != NULL;
}

static struct py_value value_at(struct py *y, const char *p)
{
    struct py_value v = {.p = p};
    const char *q = p;
    uint32_t line = y->line;
    if (q < y->end && (*q == '"' || *q == '\'')) {
        q = past_string(y, q, &v.p, &v.n);
        v.is_known = v.is_text = memchr(v.p, '\\', v.n) == NULL && memchr(v.p, '\n', v.n) == NULL;
    } else if (q < y->end && is_letter(*q)) {
        const struct py_var *var;
        v.n = name_at(y, q);
        q += v.n;
        var = find_var(y, v.p, v.n);
        v.is_known = (v.n == 4 && (memcmp(v.p, "True", 4) == 0 || memcmp(v.p, "None", 4) == 0)) ||
                     (v.n == 5 && memcmp(v.p, "False", 5) == 0);
        if (!v.is_known && var != NULL && var->value != NULL) {
            v.is_known = true;
            v.p = var->value;
            v.n = strlen(v.p);
        }
    } else {
        q += is_at(y, q, '-');
        while (q < y->end && (is_digit(*q) || strchr(".eE_-+", *q) != NULL) &&
               ((*q != '-' && *q != '+') || q[-1] == 'e' || q[-1] == 'E'))
            q++;
        v.n = (size_t)(q - p);
        v.is_known = v.n != 0 && (is_digit(*p) || v.n > 1) && memchr(p, '_', v.n) == NULL;
    }
    y->line = line; /* the walk goes over it again */
    q = past_blanks(y, q);
    if (q < y->end && strchr(",)}]\n\r#;", *q) == NULL)
        v.is_known = false; /* more than that */
    if (!v.is_known) {
        v.is_text = false;
        v.p = p;
        for (v.n = 0; p + v.n < y->end && v.n < SHOWN && strchr(",)}\n\r#", p[v.n]) == NULL;)
            v.n++;
        if (v.n != 0 && v.n < SHOWN)
            compute(y, &v);
    }
    return v;
}

/* "args.rows" for the key "rows": whoever sets that option sets this. */
static bool is_same_name(const char *key, size_t n, const struct py_value *v)
{
    return !v->is_known && v->n > n + 1 && is_letter(v->p[0]) && v->p[v->n - n - 1] == '.' &&
           memcmp(v->p + v->n - n, key, n) == 0;
}

static void add(struct py *y, const char *key, size_t n, const struct py_value *v)
{
    if (is_same_name(key, n, v))
        return;
    if (v->n == 0 || (v->is_known && !v->is_text && v->n == 4 && memcmp(v->p, "None", 4) == 0))
        return;
    y->at.line = y->line;
    y->at.is_variable = !v->is_known;
    y->failed |= mt_conf_add(y->c, key, n, v->p, v->n, &y->at) != MT_OK;
}

/* "X", "a.X", "X.f": a part of it begins as classes do. */
static bool is_class(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] >= 'A' && s[i] <= 'Z' && (i == 0 || s[i - 1] == '.'))
            return true;
    return false;
}

static bool is_word(const char *s, size_t n, const char *w)
{
    return strlen(w) == n && memcmp(s, w, n) == 0;
}

/* What follows the last dot. */
static const char *last_part(const char *name, size_t *n)
{
    for (size_t i = *n; i-- > 0;)
        if (name[i] == '.') {
            *n -= i + 1;
            return name + i + 1;
        }
    return name;
}

/* Verbs of what fills a card; a plot has a height too, and takes none of it. */
static bool is_run(const char *name, size_t n)
{
    static const char *const verbs[] = {"generate", "pipe",   "sample", "predict",
                                        "infer",    "encode", "decode", "render",
                                        "train",    "fit",    "model",  "loader"};
    name = last_part(name, &n);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        for (size_t k = strlen(verbs[i]), at = 0; at + k <= n; at++)
            if (memcmp(name + at, verbs[i], k) == 0)
                return true;
    return false;
}

static enum py_call call_of(const struct py *y, const char *name, size_t n)
{
    size_t k = n;
    const char *last = last_part(name, &k);
    if (is_word(last, k, "add_argument") || is_word(last, k, "option") ||
        (y->field != NULL && (is_word(last, k, "field") || is_word(last, k, "Field"))))
        return PY_OPTION;
    if (y->any_call)
        return PY_RUNS;
    if (!is_class(name, n) && !is_run(name, n))
        return PY_PLAIN;
    return y->is_def ? PY_DEF : is_class(name, n) ? PY_CLASS : PY_RUNS;
}

/* A parameter without a type: "rows=8" behind a comma or the bracket; in "rows: int = 8" the name
 * before the sign is the type's. */
static bool is_parameter(const char *name)
{
    while (name[-1] == ' ' || name[-1] == '\n' || name[-1] == '\t')
        name--;
    return name[-1] == '(' || name[-1] == ',';
}

/* A number or a switch: a text may be a choice among words, and what they mean is not known here.
 */
static bool is_plain(const struct py_value *v)
{
    return v->is_known && !v->is_text && v->n != 0 && *v->p != 'N';
}

/* An option (a flag of the command line) or a field of the script's own, where nobody sets it. */
static void add_default(struct py *y, const char *name, size_t n, bool is_flag,
                        const struct py_value *v)
{
    if (!is_plain(v))
        return;
    y->at.is_default = true;
    y->at.form = is_flag ? MT_CONF_FLAG : MT_CONF_PYTHON;
    add(y, name, n, v);
    y->at.is_default = false;
    y->at.form = MT_CONF_PYTHON;
}

/* "name: type = value" of a class or a module; p is behind the name. Returns where to go on. */
static const char *annotated(struct py *y, const char *name, size_t n, const char *p)
{
    static const char *const other[] = {"else", "try", "finally", "lambda"}; /* what ends in ':' */
    struct py_value v;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (is_word(name, n, other[i]))
            return p;
    for (p++; p < y->end && *p != '\n' && *p != '=' && *p != '#' && *p != '('; p++)
        ;
    if (!is_at(y, p, '=') || is_at(y, p + 1, '='))
        return p;
    p = past_blanks(y, p + 1);
    v = value_at(y, p);
    if (is_plain(&v)) {
        add_default(y, name, n, false, &v);
    } else {
        y->field = name;
        y->n_field = n;
    }
    return p;
}

/* The rest of "from a.b import C, D as E" behind "from ": "a.b.C" and "a.b.D". */
static void imports(struct py *y, const char *p)
{
    size_t n = name_at(y, p), k;
    const char *module = p;
    bool in_brackets;
    p = past_blanks(y, p + n);
    if (n == 0 || n > NAME || y->end - p < 7 || memcmp(p, "import ", 7) != 0)
        return;
    p = past_blanks(y, p + 7);
    in_brackets = is_at(y, p, '(');
    for (p += in_brackets; p < y->end && *p != ')' && (in_brackets || *p != '\n'); p += k) {
        char name[2 * NAME + 2];
        k = name_at(y, p);
        if (k == 2 && memcmp(p, "as", 2) == 0) { /* its name here, which is not the package's */
            k = (size_t)(past_blanks(y, p + k) - p);
            k += name_at(y, p + k);
            continue;
        }
        if (k != 0 && k <= NAME && is_class(p, k)) {
            memcpy(name, module, n);
            name[n] = '.';
            memcpy(name + n + 1, p, k);
            y->failed |= mt_conf_start(y->c, name, n + 1 + k) != MT_OK;
        }
        k += k == 0;
    }
}

/* os.environ["NAME"] = "value"; p is behind "os.environ". */
static void environment(struct py *y, const char *p)
{
    struct mt_conf_at at = y->at;
    const char *name;
    struct py_value v;
    size_t n;
    if (!is_at(y, p, '[') || p + 1 >= y->end || (p[1] != '"' && p[1] != '\''))
        return;
    p = past_string(y, p + 1, &name, &n);
    if (!is_at(y, p, ']'))
        return;
    p = past_blanks(y, p + 1);
    if (!is_at(y, p, '=') || is_at(y, p + 1, '='))
        return;
    v = value_at(y, past_blanks(y, p + 1));
    at.form = MT_CONF_ENV;
    at.line = y->line;
    at.is_variable = !v.is_known;
    if (v.is_text || !v.is_known)
        y->failed |= mt_conf_add(y->c, name, n, v.p, v.n, &at) != MT_OK;
}

/* A bracket of the call of that name opens. */
static void open_call(struct py *y, const char *name, size_t n)
{
    enum py_call call = call_of(y, name, n);
    size_t k = n;
    const char *last = last_part(name, &k);
    struct py_value on = {.p = "True", .n = 4, .is_known = true};
    if (y->depth < MT_CONF_DEPTH)
        y->call[y->depth] = (uint8_t)call;
    y->depth++;
    y->begins = y->is_def = false;
    if (call == PY_OPTION) {
        y->has_keyword = false;
        y->option = y->field;
        y->n_option = y->n_field;
    }
    if (last != name && k > 7 &&
        (memcmp(last, "enable_", 7) == 0 || memcmp(last + k - 7, "_enable", 7) == 0))
        add(y, last, k, &on);
    /* "AutoModel.from_pretrained(": a script of which only a part is at hand has no imports */
    if (last != name && is_word(last, k, "from_pretrained") && is_class(name, n - k - 1))
        y->failed |= mt_conf_start(y->c, name, n - k - 1) != MT_OK;
}

/* What a script calls the dict that it hands to a program as its settings. */
static bool is_settings(const char *name, size_t n)
{
    static const char *const ends[] = {"config", "conf", "args", "kwargs", "params", "options"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n >= k && memcmp(name + n - k, ends[i], k) == 0)
            return true;
    }
    return false;
}

/* A string of a dict of settings; p is behind it. Where it is a key, its value is a setting or one
 * more dict. */
static void key_of_dict(struct py *y, const char *key, size_t n, const char *p)
{
    size_t at = y->in[y->depth - 1];
    struct py_value v;
    if (!is_at(y, p, ':') || n == 0 || at + n + 1 > sizeof y->path)
        return;
    if (at != 0)
        y->path[at++] = '.';
    memcpy(y->path + at, key, n);
    y->n_path = at + n;
    p = past_blanks(y, p + 1);
    if (is_at(y, p, '{')) {
        y->dict = p;
        return;
    }
    v = value_at(y, p);
    y->at.form = MT_CONF_JSON; /* it is typed as one */
    if (v.is_known)
        add(y, y->path, y->n_path, &v);
    y->at.form = MT_CONF_PYTHON;
}

/* "name=" of a call or of a statement; p is behind the sign. */
static void assign(struct py *y, const char *name, size_t n, const char *p)
{
    struct py_value v = value_at(y, past_blanks(y, p));
    enum py_call call = PY_PLAIN;
    if (y->depth != 0 && y->depth <= MT_CONF_DEPTH)
        call = (enum py_call)y->call[y->depth - 1];
    if (is_at(y, past_blanks(y, p), '{') && is_settings(name, n) &&
        (call == PY_CLASS || (y->begins && y->depth == 0))) {
        y->dict = past_blanks(y, p);
        y->n_path = 0;
        return;
    }
    if (call == PY_OPTION) {
        y->has_keyword = true;
        if (is_word(name, n, "default") && y->option != NULL)
            add_default(y, y->option, y->n_option, y->option != y->field, &v);
    } else if (call == PY_DEF) {
        if (is_parameter(name) && is_plain(&v))
            add_default(y, name, n, false, &v);
    } else if (call == PY_CLASS || (call == PY_RUNS && is_plain(&v))) {
        add(y, name, n, &v);
    } else if (y->begins && y->depth == 0) {
        set_var(y, name, n, v.is_known ? v.p : NULL, v.n);
        y->at.is_name = true;
        if (!y->indented && v.is_known && !v.is_text)
            add(y, name, n, &v);
        y->at.is_name = false;
    }
}

static const char *word(struct py *y, const char *p)
{
    size_t n = name_at(y, p);
    const char *name = p, *q = past_blanks(y, p + n);
    if (n <= 2 && is_at(y, p + n, '"')) /* r"...", f'...' */
        return p + n;
    if (y->begins) {
        y->field = NULL;
        y->is_def = is_word(name, n, "def") || is_word(name, n, "async");
    }
    if (y->begins && n == 4 && memcmp(p, "from", 4) == 0)
        imports(y, q);
    else if (y->begins && n == 10 && memcmp(p, "os.environ", 10) == 0)
        environment(y, p + n);
    if (is_at(y, q, '(')) {
        open_call(y, name, n);
        return q + 1;
    }
    if (is_at(y, q, '=') && !is_at(y, q + 1, '=') && memchr(name, '.', n) == NULL) {
        assign(y, name, n, q + 1);
        q++;
    } else if (y->begins && y->depth == 0 && is_at(y, q, ':')) {
        q = annotated(y, name, n, q);
    }
    y->begins = false;
    return q;
}

/* "--rows-of-it" behind its dashes. */
static bool is_option_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_letter(s[i]) && (i == 0 || (!is_digit(s[i]) && s[i] != '-')))
            return false;
    return n != 0 && n <= NAME;
}

/* A string at p; the name of an option is the longest of those that it is given. */
static const char *string(struct py *y, const char *p)
{
    const char *from;
    size_t n, dashes = 0;
    p = past_string(y, p, &from, &n);
    y->begins = false;
    while (dashes < n && from[dashes] == '-')
        dashes++;
    from += dashes;
    n -= dashes;
    if (dashes != 0 && y->depth != 0 && y->depth <= MT_CONF_DEPTH && !y->has_keyword &&
        y->call[y->depth - 1] == PY_OPTION && is_option_name(from, n) &&
        (y->option == NULL || n > y->n_option)) {
        y->option = from;
        y->n_option = n;
    }
    if (dashes == 0 && y->depth != 0 && y->depth <= MT_CONF_DEPTH &&
        y->call[y->depth - 1] == PY_DICT)
        key_of_dict(y, from, n, past_blanks(y, p));
    return p;
}

static enum mt_rc walk(struct py *y, struct mt_err *err)
{
    while (y->p < y->end && !y->failed) {
        char ch = *y->p;
        if (is_letter(ch)) {
            y->p = word(y, y->p);
        } else if (ch == '"' || ch == '\'') {
            y->p = string(y, y->p);
        } else if (ch == '#') {
            while (y->p < y->end && *y->p != '\n')
                y->p++;
        } else {
            if (ch == '\n') {
                y->line++;
                y->begins = y->depth == 0;
                y->indented = y->p + 1 < y->end && (y->p[1] == ' ' || y->p[1] == '\t');
            } else if (ch == '(' || ch == '[' || ch == '{') {
                if (y->depth < MT_CONF_DEPTH) {
                    y->call[y->depth] = y->p == y->dict ? PY_DICT : PY_PLAIN;
                    y->in[y->depth] = (uint16_t)y->n_path;
                }
                y->depth++;
            } else if (ch == ')' || ch == ']' || ch == '}') {
                y->depth -= y->depth != 0;
            } else if (ch == ';' && y->depth == 0) {
                y->begins = true;
            } else if (ch != ' ' && ch != '\t' && ch != '\r') {
                y->begins = false;
            }
            y->p++;
        }
    }
    MT_VEC_DONE(&y->vars);
    return y->failed ? mt_fail(err, MT_ENOMEM, "out of memory") : MT_OK;
}

enum mt_rc mt_conf_python(struct mt_config *c, const char *text, size_t n, const char *source,
                          struct mt_err *err)
{
    struct py y = {.c = c,
                   .p = text,
                   .end = text + n,
                   .line = 1,
                   .at = {.source = source, .form = MT_CONF_PYTHON},
                   .begins = true};
    return walk(&y, err);
}

enum mt_rc mt_conf_program(struct mt_config *c, const char *text, size_t n, const char *source,
                           struct mt_err *err)
{
    const char *name = mt_conf_source(c, source);
    return name != NULL ? mt_conf_python(c, text, n, name, err)
                        : mt_fail(err, MT_ENOMEM, "out of memory");
}

enum mt_rc mt_conf_code(struct mt_config *c, const char *text, size_t n, const char *source,
                        uint32_t line, struct mt_err *err)
{
    struct py y = {.c = c,
                   .p = text,
                   .end = text + n,
                   .line = line,
                   .at = {.source = mt_conf_source(c, source), .form = MT_CONF_PYTHON},
                   .any_call = true};
    return y.at.source != NULL ? walk(&y, err) : mt_fail(err, MT_ENOMEM, "out of memory");
}
