/* conf/args.c -- command lines and launch scripts: words, quotes, assignments, flags, Hydra
 * overrides. Nothing is executed: of a variable only what the script itself sets it to in plain
 * text is known. */
#include "parser/conf/impl.h"

#include <string.h>

enum { MAX_VARS = 128 };

struct var {
    const char *name, *value; /* value NULL = set to what is not known */
    size_t n_name;
};

struct word {
    struct mt_text text;
    uint32_t line;
    bool is_variable; /* holds what is not known */
    bool is_quoted;
    size_t n_plain; /* bytes before the first quote */
};

struct args {
    struct mt_config *c;
    const char *p, *end;
    uint32_t line;
    const char *source;
    bool is_script;
    bool begun;    /* a command word was seen: what follows are its arguments */
    bool exported; /* "export" or "env" leads: assignments are of the environment */
    struct word flag;
    bool has_flag;         /* a flag waits for its value */
    bool module;           /* "-m" came last: the next word is a module */
    struct mt_text before; /* the bare word before this one; empty = none */
    struct mt_conf_container container;
    unsigned n_values;
    uint32_t first;      /* of the entries that this command makes */
    uint32_t open_quote; /* the line of a quote or bracket that nothing ends; 0 = none */
    MT_VEC(struct var) vars;
    bool failed;
};

static bool is_name_char(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

static const struct var *find_var(const struct args *a, const char *name, size_t n)
{
    for (uint32_t i = a->vars.n; i-- > 0;)
        if (a->vars.p[i].n_name == n && memcmp(a->vars.p[i].name, name, n) == 0)
            return &a->vars.p[i];
    return NULL;
}

static void set_var(struct args *a, const char *name, size_t n, const struct word *value,
                    size_t from)
{
    const struct var *old = find_var(a, name, n);
    struct var *v = old != NULL ? &a->vars.p[old - a->vars.p] : NULL;
    if (v == NULL) {
        if (a->vars.n >= MAX_VARS)
            return;
        v = MT_VEC_PUSH(&a->vars);
        if (v == NULL) {
            a->failed = true;
            return;
        }
        v->name = mt_arena_strndup(&a->c->strings, name, n);
        v->n_name = n;
        a->failed |= v->name == NULL;
    }
    v->value = NULL;
    a->c->n_bytes += value->text.n;
    if (!value->is_variable && value->text.p != NULL && a->c->n_bytes <= MT_CONF_BYTES) {
        v->value = mt_arena_strndup(&a->c->strings, value->text.p + from, value->text.n - from);
        a->failed |= v->value == NULL;
    }
    if (v->name == NULL)
        a->vars.n--;
}

/* Past the bracket that closes the one at p; quotes inside are not looked at. */
static const char *past_bracket(struct args *a, const char *p)
{
    char open = *p, shut = open == '(' ? ')' : open == '{' ? '}' : '`';
    uint32_t began = a->line;
    int depth = 1;
    for (p++; p < a->end && depth > 0; p++) {
        a->line += *p == '\n';
        if (*p == shut)
            depth--;
        else if (*p == open)
            depth++;
    }
    if (depth > 0)
        a->open_quote = began;
    return p;
}

static const char *value_of(const void *a, const char *name, size_t n)
{
    const struct var *v = find_var(a, name, n);
    return v != NULL ? v->value : NULL;
}

/* "$NAME", "${NAME}", "$((NAME * 2))" and everything else that begins with a dollar or a backquote;
 * as it is written where its value is not known. */
static const char *dollar(struct args *a, struct word *w, const char *p)
{
    const char *from = p, *name, *end = p + 1;
    const struct var *v = NULL;
    if (*p == '`') {
        end = past_bracket(a, p);
    } else if (p + 1 < a->end && (p[1] == '(' || p[1] == '{')) {
        char sum[MT_CONF_ARITH_MAX];
        end = past_bracket(a, p + 1);
        name = p + 2;
        if (end - p > 5 && memcmp(p, "$((", 3) == 0 && memcmp(end - 2, "))", 2) == 0 &&
            mt_conf_arith(p + 3, (size_t)(end - p - 5), value_of, a, sum)) {
            mt_text_add(&w->text, sum, strlen(sum));
            return end;
        }
        if (p[1] == '{' && end > name + 1 && end[-1] == '}') {
            const char *e = name;
            while (e < end - 1 && is_name_char(*e, e == name))
                e++;
            if (e == end - 1)
                v = find_var(a, name, (size_t)(e - name));
        }
    } else {
        while (end < a->end && is_name_char(*end, end == p + 1))
            end++;
        if (end == p + 1) { /* a dollar alone, or "$1", "$@" */
            mt_text_add(&w->text, p, 1);
            w->is_variable |= end < a->end && strchr("0123456789@*#?$!", *end) != NULL;
            return end;
        }
        v = find_var(a, p + 1, (size_t)(end - p - 1));
    }
    if (v != NULL && v->value != NULL) {
        mt_text_add(&w->text, v->value, strlen(v->value));
        return end;
    }
    mt_text_add(&w->text, from, (size_t)(end - from));
    w->is_variable = true;
    return end;
}

/* Behind the quote that ends at p, or nothing ends what began in that line. */
static const char *past_quote(struct args *a, const char *p, uint32_t began)
{
    if (p < a->end)
        return p + 1;
    a->open_quote = began;
    return p;
}

/* The rest of a double-quoted part; p is behind the quote. */
static const char *double_quoted(struct args *a, struct word *w, const char *p)
{
    uint32_t began = a->line;
    while (p < a->end && *p != '"') {
        if (*p == '\\' && p + 1 < a->end && strchr("\"\\$`\n", p[1]) != NULL) {
            a->line += p[1] == '\n';
            if (p[1] != '\n')
                mt_text_add(&w->text, p + 1, 1);
            p += 2;
        } else if (*p == '$' || *p == '`') {
            p = dollar(a, w, p);
        } else {
            a->line += *p == '\n';
            mt_text_add(&w->text, p++, 1);
        }
    }
    return past_quote(a, p, began);
}

static const char *single_quoted(struct args *a, struct word *w, const char *p)
{
    const char *from = p;
    uint32_t began = a->line;
    for (; p < a->end && *p != '\''; p++)
        a->line += *p == '\n';
    mt_text_add(&w->text, from, (size_t)(p - from));
    return past_quote(a, p, began);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool ends_command(char c) { return c == '\n' || c == ';' || c == '|' || c == '&'; }

/* 1 = a word; 2 = the command ends here; 0 = the text ends. */
static int next_word(struct args *a, struct word *w)
{
    const char *p = a->p;
    w->text.n = 0;
    w->text.max = MT_CONF_KEY + 1 + MT_CONF_VALUE;
    w->text.cut = w->is_variable = w->is_quoted = false;
    for (;;) {
        while (p < a->end && is_blank(*p))
            p++;
        if (p + 1 < a->end && *p == '\\' &&
            (p[1] == '\n' || (p[1] == '\r' && p + 2 < a->end && p[2] == '\n'))) {
            a->line++;
            p += p[1] == '\n' ? 2 : 3;
        } else if (p < a->end && *p == '#') {
            while (p < a->end && *p != '\n')
                p++;
        } else {
            break;
        }
    }
    a->p = p;
    if (p == a->end)
        return 0;
    w->line = a->line;
    if (ends_command(*p)) {
        a->line += *p == '\n';
        a->p = p + 1;
        return 2;
    }
    while (p < a->end && !is_blank(*p) && !ends_command(*p)) {
        if (*p == '\\' && p + 1 < a->end) {
            a->line += p[1] == '\n';
            if (p[1] == '\n')
                break; /* a line goes on: the blank of the next one parts the words, but so does
                          this */
            mt_text_add(&w->text, p + 1, 1);
            p += 2;
        } else if (*p == '"' || *p == '\'') {
            w->n_plain = w->is_quoted ? w->n_plain : w->text.n;
            w->is_quoted = true;
            p = *p == '"' ? double_quoted(a, w, p + 1) : single_quoted(a, w, p + 1);
        } else if (*p == '$' || *p == '`') {
            p = dollar(a, w, p);
        } else {
            mt_text_add(&w->text, p++, 1);
        }
    }
    if (p + 1 < a->end && *p == '\\' && p[1] == '\n')
        p += 2;
    a->p = p;
    mt_text_add(&w->text, "", 0);
    a->failed |= w->text.failed;
    return 1;
}

static void add(struct args *a, enum mt_conf_form form, const char *key, size_t n_key,
                const char *value, size_t n_value, const struct word *w)
{
    struct mt_conf_at at = {.source = a->source,
                            .line = a->is_script ? w->line : 0,
                            .form = form,
                            .is_variable = w->is_variable};
    a->failed |= mt_conf_add(a->c, key, n_key, value, n_value, &at) != MT_OK;
}

static bool is_script_file(const char *s, size_t n)
{
    return n > 3 && memcmp(s + n - 3, ".py", 3) == 0;
}

static void starts(struct args *a, const char *name, size_t n)
{
    a->failed |= mt_conf_start(a->c, name, n) != MT_OK;
}

/* "vllm serve MODEL", "NAME-serve MODEL", "NAME serve api_server MODEL": the model has no flag
 * there, and is kept as that of "serve". A path, or a name with its owner; others may be of
 * anything. */
static void served(struct args *a, const char *s, size_t n)
{
    static const char serve[] = "serve", server[] = "api_server";
    const char *before = a->before.p;
    size_t k = a->before.n;
    bool serves =
        (k >= sizeof serve - 1 && memcmp(before + k - (sizeof serve - 1), serve, 5) == 0 &&
         (k == sizeof serve - 1 || before[k - sizeof serve] == '-')) ||
        (k == sizeof server - 1 && memcmp(before, server, k) == 0);
    struct word w = {.line = a->line};
    if (serves && memchr(s, '/', n) != NULL)
        add(a, MT_CONF_FLAG, serve, sizeof serve - 1, s, n, &w);
}

/* A word that is no setting: what a command starts is among them. */
static void bare_word(struct args *a, const struct word *w)
{
    const char *s = w->text.p, *base = s;
    size_t n = w->text.n;
    if (w->is_variable || w->is_quoted) {
        a->module = false;
        a->before.n = 0;
        return;
    }
    if (a->module || is_script_file(s, n))
        starts(a, s, n);
    a->module = n == 2 && s[0] == '-' && s[1] == 'm';
    a->container.is_open = mt_conf_container_begins(&a->before, s, n);
    served(a, s, n);
    if (a->before.n != 0) { /* "swift sft" */
        mt_text_add(&a->before, " ", 1);
        mt_text_add(&a->before, s, n);
        if (!a->before.cut && !a->before.failed)
            starts(a, a->before.p, a->before.n);
    }
    for (size_t i = 0; i < n; i++)
        if (s[i] == '/')
            base = s + i + 1;
    a->before.n = 0;
    a->before.max = 64;
    a->before.cut = false;
    mt_text_add(&a->before, base, n - (size_t)(base - s));
    a->failed |= a->before.failed;
}

/* A flag whose value is known now; n_value SIZE_MAX = it has none. */
static void finish_flag(struct args *a, const char *value, size_t n_value, const struct word *w)
{
    static const char runtime_env[] = "runtime-env-json";
    const char *key = a->flag.text.p;
    size_t n = a->flag.text.n;
    a->has_flag = false;
    if (value == NULL) {
        add(a, MT_CONF_FLAG, key, n, "", 0, &a->flag);
        return;
    }
    add(a, MT_CONF_FLAG, key, n, value, n_value, w);
    /* "launcher --module program.cli.train_sft", and "torchrun --standalone train.py" */
    if (!w->is_variable && n_value != 0 &&
        ((n == 6 && memcmp(key, "module", n) == 0) || is_script_file(value, n_value)))
        starts(a, value, n_value);
    if (n == sizeof runtime_env - 1 && memcmp(key, runtime_env, n) == 0 && n_value != 0 &&
        value[0] == '{') {
        struct mt_conf_at at = {.source = a->source,
                                .line = a->is_script ? w->line : 0,
                                .form = MT_CONF_PATH,
                                .is_variable = w->is_variable};
        a->failed |= mt_conf_json(a->c, value, n_value, "runtime_env", &at, NULL) == MT_ENOMEM;
    }
}

/* Length of "NAME" in "NAME=value", or 0. */
static size_t assigned_name(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && is_name_char(s[i], i == 0))
        i++;
    return i < n && s[i] == '=' ? i : 0;
}

static bool is_upper(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] >= 'a' && s[i] <= 'z')
            return false;
    return n > 1;
}

/* Length of the key in "+a.b=value" without its sign, or 0; *skip: length of the sign. */
static size_t override_key(const char *s, size_t n, size_t *skip)
{
    size_t i = 0, from;
    while (i < n && i < 2 && s[i] == '+')
        i++;
    from = i;
    while (i < n &&
           (is_name_char(s[i], false) || s[i] == '.' || s[i] == '-' || s[i] == '/' || s[i] == '@'))
        i++;
    *skip = from;
    return i < n && s[i] == '=' && i > from ? i - from : 0;
}

static bool is_number(const char *s, size_t n)
{
    bool any = false;
    for (size_t i = s[0] == '-'; i < n; i++) {
        if (!(s[i] >= '0' && s[i] <= '9') && s[i] != '.')
            return false;
        any = true;
    }
    return any;
}

/* "${ARGS[@]}", "$@": words of their own, as launch scripts put them behind a flag without a value
 * ("--colocate ${MODEL_ARGS[@]}"). */
static bool is_list(const struct word *w)
{
    const char *s = w->text.p;
    size_t n = w->text.n;
    if (!w->is_variable || n < 2 || s[0] != '$')
        return false;
    if (n == 2)
        return s[1] == '@' || s[1] == '*';
    return n > 5 && s[1] == '{' && memchr(s, '}', n) == s + n - 1 && s[n - 4] == '[' &&
           (s[n - 3] == '@' || s[n - 3] == '*') && s[n - 2] == ']';
}

/* True when w cannot be the value of a flag. */
static bool is_argument_of_its_own(const struct word *w)
{
    size_t skip;
    const char *dot;
    if (is_list(w))
        return true;
    if (w->is_quoted && (w->n_plain < 3 || memcmp(w->text.p, "--", 2) != 0))
        return false; /* of --name="x y" the value alone is quoted */
    if (w->text.n > 1 && w->text.p[0] == '-')
        return !is_number(w->text.p, w->text.n);
    dot = memchr(w->text.p, '.', w->text.n);
    return dot != NULL && override_key(w->text.p, w->text.n, &skip) > (size_t)(dot - w->text.p);
}

/* "-tp", as engines have it beside --tensor-parallel-size; no -m and no -c, which are others'. */
static bool is_short_flag(const char *s, size_t n)
{
    if (n < 3 || n > 4 || s[0] != '-')
        return false;
    for (size_t i = 1; i < n; i++)
        if (s[i] < 'a' || s[i] > 'z')
            return false;
    return s[n - 1] == 'p';
}

/* Behind `dashes` of them. */
static void flag(struct args *a, const struct word *w, size_t dashes)
{
    const char *s = w->text.p + dashes, *eq = memchr(s, '=', w->text.n - dashes);
    size_t n = w->text.n - dashes;
    a->flag.text.n = 0;
    a->flag.text.max = MT_CONF_KEY + 1;
    a->flag.text.cut = false;
    mt_text_add(&a->flag.text, s, eq != NULL ? (size_t)(eq - s) : n);
    a->failed |= a->flag.text.failed;
    a->flag.line = w->line;
    a->flag.is_variable = false;
    a->has_flag = true;
    a->n_values = 0;
    if (eq != NULL && !a->failed)
        finish_flag(a, eq + 1, n - (size_t)(eq + 1 - s), w);
}

/* "name=value" where a command may begin, or behind "export" and "env"; outside scripts
 * "NAME=value" anywhere, as people write it there. */
static bool assignment(struct args *a, const struct word *w)
{
    size_t n = assigned_name(w->text.p, w->text.n);
    bool upper = is_upper(w->text.p, n);
    if (n == 0 || (a->is_script ? a->begun && !a->exported : !upper))
        return false;
    if (a->is_script)
        set_var(a, w->text.p, n, w, n + 1);
    if (upper || a->exported)
        add(a, MT_CONF_ENV, w->text.p, n, w->text.p + n + 1, w->text.n - n - 1, w);
    return true;
}

static bool is_word(const struct word *w, const char *s)
{
    return w->text.n == strlen(s) && memcmp(w->text.p, s, w->text.n) == 0;
}

/* "docker run -e A=b --gpus all image:tag": what is of the container, up to its image. */
static void in_container(struct args *a, const struct word *w)
{
    const char *s = w->text.p;
    size_t n = w->text.n, k, value;
    switch (mt_conf_container_word(&a->container, s, n, &value)) {
    case MT_CONTAINER_VARIABLE:
        s += value;
        n -= value;
        k = assigned_name(s, n);
        if (k != 0)
            add(a, MT_CONF_ENV, s, k, s + k + 1, n - k - 1, w);
        break;
    case MT_CONTAINER_IMAGE:
        if (!w->is_variable)
            starts(a, s, mt_conf_container_name(s, n));
        a->before.n = 0;
        break;
    case MT_CONTAINER_OPTION: break;
    }
}

/* "export NAME", behind "NAME=value". */
static void export_later(struct args *a, const struct word *w)
{
    size_t n = w->text.n;
    for (uint32_t i = 0; i < a->c->entries.n; i++) {
        struct mt_conf_entry *e = &a->c->entries.p[i];
        if (e->is_local && strncmp(e->key, w->text.p, n) == 0 &&
            (e->key[n] == '\0' || e->key[n] == '.'))
            e->is_local = false;
    }
}

static void take(struct args *a, const struct word *w)
{
    const char *s = w->text.p;
    size_t n = w->text.n, skip, k;
    if (a->container.is_open) {
        in_container(a, w);
        return;
    }
    if (a->has_flag && !is_argument_of_its_own(w)) {
        finish_flag(a, s, n, w);
        return;
    }
    if (a->has_flag)
        finish_flag(a, NULL, 0, w);
    if (n > 2 && s[0] == '-' && s[1] == '-') {
        a->begun = true;
        flag(a, w, 2);
        return;
    }
    if (a->begun && is_short_flag(s, n)) {
        flag(a, w, 1);
        return;
    }
    if (assignment(a, w))
        return;
    k = override_key(s, n, &skip);
    if (k != 0) {
        a->begun = true;
        add(a, MT_CONF_OVERRIDE, s + skip, k, s + skip + k + 1, n - skip - k - 1, w);
    } else if (n > 1 && s[0] == '~') {
        const char *eq = memchr(s, '=', n);
        add(a, MT_CONF_OVERRIDE, s + 1, eq != NULL ? (size_t)(eq - s) - 1 : n - 1, NULL, 0, w);
    } else {
        bool leads =
            !a->begun && (is_word(w, "export") || is_word(w, "env") || is_word(w, "declare"));
        a->exported |= leads;
        a->begun |= !leads;
        if (!leads)
            bare_word(a, w);
        if (a->exported && !leads) {
            a->exported = false;
            export_later(a, w);
        }
    }
}

static void end_command(struct args *a)
{
    if (a->has_flag)
        finish_flag(a, NULL, 0, &a->flag);
    for (uint32_t i = a->first; a->is_script && !a->begun && !a->exported && i < a->c->entries.n;
         i++)
        a->c->entries.p[i].is_local = a->c->entries.p[i].form == MT_CONF_ENV;
    a->first = a->c->entries.n;
    a->begun = a->exported = a->module = false;
    a->before.n = 0;
    a->container = (struct mt_conf_container){.is_open = false};
}

enum mt_rc mt_conf_args(struct mt_config *c, const char *text, size_t n, const char *source,
                        bool is_script, struct mt_err *err)
{
    struct args a = {.c = c, .p = text, .end = text + n, .line = 1, .is_script = is_script};
    struct word w = {.line = 0};
    int r = 0;
    c->goes_on |= is_script && mt_conf_script_goes_on(text, n);
    a.first = c->entries.n;
    a.source = mt_conf_source(c, source);
    a.failed = a.source == NULL;
    while (!a.failed && (r = next_word(&a, &w)) != 0) {
        if (a.failed || (is_script && a.open_quote != 0))
            break;
        if (r == 2)
            end_command(&a);
        else
            take(&a, &w);
    }
    if (!a.failed)
        end_command(&a);
    mt_text_done(&w.text);
    mt_text_done(&a.flag.text);
    mt_text_done(&a.before);
    MT_VEC_DONE(&a.vars);
    if (a.failed)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (is_script && a.open_quote == 0)
        a.open_quote = (uint32_t)mt_conf_script_open_list(text, n);
    return is_script && a.open_quote != 0 && !mt_conf_script_has_more(text, n)
               ? mt_fail(err, MT_WARN,
                         "line %lu: nothing ends this quote or bracket; used up to it",
                         (unsigned long)a.open_quote)
               : MT_OK;
}
