/* redact.c -- what looks like a secret is replaced by "[redacted]" before anything is written.
 *
 * Two questions are asked of every text. Does a name say that its value is secret (HF_TOKEN=...,
 * --api-key ..., "password": "...", +env.WANDB_API_KEY=..., Authorization: ...)? Does the text
 * itself have the form of a secret (sk-..., hf_..., a JWT, a URL with credentials, a private key)?
 * When in doubt it is replaced; but what a memory report needs is known not to be secret:
 * max_tokens=512, data.prompt_key=prompt, tokenizer paths, eos_token_id=2. */
#include "capture/inject/redact.h"
#include "capture/inject/redact_forms.h"

#include <stdint.h>
#include <string.h>

struct span {
    const char *p;
    size_t n;
};
struct out {
    char *p;
    size_t n, cap;
};

/* ---- bytes: ASCII, whatever the locale ---- */

static bool blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool namebyte(char c) { return mti_word(c) || c == '_' || c == '-' || c == '.'; }

static bool same(struct span s, const char *text)
{
    size_t n = strlen(text);
    if (s.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (mti_fold(s.p[i]) != text[i])
            return false;
    return true;
}

static bool one_of(struct span s, const char *const *list)
{
    for (; *list != NULL; list++)
        if (same(s, *list))
            return true;
    return false;
}

static bool starts(struct span s, const char *text)
{
    size_t n = strlen(text);
    return s.n >= n && memcmp(s.p, text, n) == 0;
}

static bool starts_fold(struct span s, const char *text)
{
    size_t n = strlen(text);
    return s.n >= n && same((struct span){s.p, n}, text);
}

static struct span from(struct span s, size_t at) { return (struct span){s.p + at, s.n - at}; }

static void put(struct out *o, const char *p, size_t n)
{
    size_t room = o->cap - 1 - o->n;
    if (n > room)
        n = room;
    memcpy(o->p + o->n, p, n);
    o->n += n;
}
static void put_mark(struct out *o) { put(o, MTI_REDACTED, sizeof MTI_REDACTED - 1); }

/* ---- does the name say so? ---- */

enum says { NO, MAYBE, YES, ALWAYS /* whatever the value */ };

/* Words that make a secret wherever they stand in a name. */
static const char *const always[] = {"secret",      "secrets",       "password",   "passwords",
                                     "passwd",      "passphrase",    "pwd",        "passcode",
                                     "credential",  "credentials",   "creds",      "cookie",
                                     "cookies",     "bearer",        "apikey",     "apikeys",
                                     "accesskey",   "secretkey",     "privatekey", "authtoken",
                                     "accesstoken", "authorization", "userpwd",    "netrc",
                                     "pw",          "webhook",       "webhooks",   NULL};
/* Words that do so at the end of a name, unless the word before says otherwise. */
static const char *const last[] = {"token", "key", "keys", "pass",    "auth",    "signature",
                                   "sig",   "jwt", "pat",  "authkey", "passkey", NULL};
/* of a word: hftoken */
static const char *const ends[] = {"token", "key", "credential", "cookie", NULL};
static const char *const sure_ends[] = {"secret", "password", "passwd", NULL}; /* PGPASSWORD */
/* Before "key" and "keys": still a secret in the plural too. */
static const char *const key_kinds[] = {
    "api",     "access", "private", "secret", "auth",  "license", "signing", "encryption",
    "account", "master", "service", "client", "wandb", "app",     "storage", NULL};
/* Before "token" and "key": it is a word of language models, of data sets or of tables. */
static const char *const harmless[] = {
    "eos",      "bos",      "pad",    "unk",      "sep",      "cls",     "mask",    "image",
    "images",   "video",    "videos", "audio",    "special",  "stop",    "end",     "start",
    "begin",    "per",      "max",    "min",      "num",      "n",       "new",     "next",
    "first",    "last",     "think",  "thinking", "draft",    "extra",   "added",   "eot",
    "eom",      "every",    "each",   "total",    "prompt",   "reward",  "fn",      "answer",
    "response", "text",     "label",  "input",    "output",   "data",    "dataset", "sort",
    "primary",  "foreign",  "group",  "index",    "column",   "score",   "metric",  "monitor",
    "cache",    "kv",       "query",  "question", "messages", "message", "tools",   "tool",
    "source",   "solution", "ground", "truth",    "target",   "unique",  "field",   "loss",
    "name",     "state",    "module", "param",    "layer",    "by",      "hot",     "two",
    "one",      "second",   NULL};
/* Values that no secret has. */
static const char *const plain[] = {"true", "false", "none", "null", "yes",
                                    "no",   "on",    "off",  "",     NULL};

/* The next word of a name: words end at anything but a letter or digit, and where a capital begins
 * one (hfToken, APIKey). Digits at the end of a word do not belong to it (TOKEN2). */
static bool next_word(struct span name, size_t *at, struct span *w)
{
    size_t i = *at;
    while (i < name.n && !mti_word(name.p[i]))
        i++;
    size_t begin = i;
    for (; i < name.n && mti_word(name.p[i]); i++) {
        if (i == begin)
            continue;
        bool camel = mti_upper(name.p[i]) && !mti_upper(name.p[i - 1]);
        bool acronym = mti_upper(name.p[i]) && mti_upper(name.p[i - 1]) && i + 1 < name.n &&
                       mti_lower(name.p[i + 1]);
        if (camel || acronym)
            break;
    }
    *at = i;
    *w = (struct span){name.p + begin, i - begin};
    while (w->n > 1 && mti_digit(w->p[w->n - 1]))
        w->n--;
    return i > begin;
}

static bool all_digits(struct span w)
{
    for (size_t i = 0; i < w.n; i++)
        if (!mti_digit(w.p[i]))
            return false;
    return true;
}

static bool ends_in(struct span w, const char *const *list)
{
    for (; *list != NULL; list++) {
        size_t n = strlen(*list);
        if (w.n >= n && same(from(w, w.n - n), *list))
            return true;
    }
    return false;
}

static enum says word_says(struct span w)
{
    if (one_of(w, always) || ends_in(w, sure_ends))
        return ALWAYS;
    return ends_in(w, ends) || one_of(w, last) ? MAYBE : NO;
}

/* The last component of a dotted name decides, except that the words that are always secret count
 * anywhere. */
static enum says name_says(struct span name)
{
    enum says s = NO;
    struct span w, prev = {NULL, 0}, final = {NULL, 0}, before = {NULL, 0};
    size_t at = 0;
    while (next_word(name, &at, &w)) {
        enum says ws = word_says(w);
        if (ws > s)
            s = ws;
        if (prev.p != NULL && one_of(prev, key_kinds) && (same(w, "key") || same(w, "keys")))
            s = ALWAYS;
        bool dotted = false;
        for (const char *q = prev.p != NULL ? prev.p + prev.n : w.p; q < w.p; q++)
            dotted = dotted || *q == '.';
        if (!all_digits(w)) {
            before = dotted ? (struct span){NULL, 0} : prev;
            final = w;
        }
        prev = w;
    }
    if (s == MAYBE && final.p != NULL && one_of(final, last)) {
        if (before.p != NULL && one_of(before, harmless))
            return NO;
        return same(final, "keys") ? MAYBE : YES;
    }
    return s;
}

/* ---- does the text itself have the form of one? ---- */

static bool tokenbyte(char c) { return mti_word(c) || c == '_' || c == '-'; }

static size_t run(struct span s, bool (*in)(char))
{
    size_t n = 0;
    while (n < s.n && in(s.p[n]))
        n++;
    return n;
}

/* A long run of mixed characters, as keys are: letters and digits, 12 or more. */
static bool looks_random(struct span v)
{
    bool letters = false, digits = false;
    if (v.n < 12)
        return false;
    for (size_t i = 0; i < v.n; i++) {
        char c = v.p[i];
        letters = letters || mti_lower(c) || mti_upper(c);
        digits = digits || mti_digit(c);
        if (!tokenbyte(c) && c != '+' && c != '/' && c != '=' && c != '.' && c != '~' && c != ':')
            return false;
    }
    return letters && digits && v.p[0] != '/' && v.p[0] != '.' && v.p[0] != '~';
}

/* Prefixes that services give to their keys; need: at least so many characters follow; mixed: one
 * of them a digit or capital, unless there are 20 or more. */
static const struct prefix {
    const char *text;
    unsigned char need;
    bool mixed;
} prefixes[] = {{"sk-", 8, true},
                {"sk_live_", 8, false},
                {"sk_test_", 8, false},
                {"rk_live_", 8, false},
                {"pk-lf-", 8, false},
                {"hf_", 8, true},
                {"api_org_", 8, true},
                {"ghp_", 8, false},
                {"gho_", 8, false},
                {"ghu_", 8, false},
                {"ghs_", 8, false},
                {"ghr_", 8, false},
                {"github_pat_", 8, false},
                {"glpat-", 8, false},
                {"xoxb-", 8, false},
                {"xoxp-", 8, false},
                {"xoxa-", 8, false},
                {"xoxs-", 8, false},
                {"xapp-", 8, false},
                {"AKIA", 12, true},
                {"ASIA", 12, true},
                {"AIza", 20, true},
                {"ya29.", 8, false},
                {"eyJ", 17, true},
                {"nvapi-", 8, false},
                {"r8_", 20, true},
                {"npm_", 20, true},
                {"pypi-", 20, true},
                {"gsk_", 12, true},
                {"xai-", 12, true},
                {"dop_v1_", 8, false},
                {"dckr_pat_", 8, false},
                {"tvly-", 12, true},
                {"lsv2_", 12, true},
                {"AGE-SECRET-KEY-", 8, false},
                {"SG.", 20, true},
                {"shpat_", 12, false},
                {"wandb_v1_", 8, false},
                {"GOCSPX-", 8, false},
                {"dapi", 32, true},
                {"tskey-", 16, true},
                {"lin_api_", 16, true},
                {"hvs.", 20, true},
                {"hvb.", 20, true},
                {"ATATT3", 20, false},
                {"ATCTT3", 20, false}};

static bool jwtbyte(char c) { return tokenbyte(c) || c == '.'; }

/* Length of the secret that begins here (at the start of a word), or 0. */
static size_t form(struct span s)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const struct prefix *x = &prefixes[i];
        if (!starts(s, x->text))
            continue;
        size_t skip = strlen(x->text);
        bool dots = x->text[0] == 'e' || x->text[skip - 1] == '.';
        size_t n = run(from(s, skip), dots ? jwtbyte : tokenbyte);
        bool mixed = !x->mixed || n >= 20;
        for (size_t k = 0; k < n && !mixed; k++)
            mixed = mti_digit(s.p[skip + k]) || mti_upper(s.p[skip + k]);
        if (n >= x->need && mixed)
            return skip + n;
    }
    return 0;
}

#define MAX_CREDENTIALS 1024 /* keeps the time linear */
static bool unquoted(char c)
{
    return !blank(c) && c != '"' && c != '\'' && c != '\\' && c != '<' && c != '>' && c != '`';
}
static bool listed(char c) { return unquoted(c) && c != ',' && c != ';' && c != ')'; }
static bool authority(char c) { return unquoted(c) && c != '/' && c != '?' && c != '#'; }

static bool port(struct span s) { return s.n > 0 && s.n <= 5 && all_digits(s); }

/* s begins after "://". Length of the user and password up to the '@', or 0. */
static size_t userinfo(struct span s, bool ssh)
{
    size_t host = run(s, authority), at = 0, colon = SIZE_MAX;
    bool found = false;
    for (size_t i = 0; i < host; i++)
        if (s.p[i] == '@') {
            at = i;
            found = true;
        }
    for (size_t i = 0; i < host && colon == SIZE_MAX; i++)
        if (s.p[i] == ':')
            colon = i;
    if (!found && colon != SIZE_MAX && s.p[0] != '[' &&
        !port((struct span){s.p + colon + 1, host - colon - 1})) {
        /* a password with a slash in it that is not encoded */
        if (s.n > MAX_CREDENTIALS)
            s.n = MAX_CREDENTIALS;
        size_t n = run(s, unquoted);
        for (size_t i = host; i < n; i++)
            if (s.p[i] == '@') {
                at = i;
                found = true;
            }
    }
    if (!found || at == 0 || (ssh && (colon == SIZE_MAX || colon > at)))
        return 0;
    return at;
}

/* ---- the text ---- */

/* Where the value that begins at v ends, and what encloses it. sep: '=', ':' or ' ' (a flag and its
 * value). */
static size_t value_end(struct span v, char sep, bool whole)
{
    size_t i = 0;
    if (v.n == 0 || whole)
        return v.n;
    char c = v.p[0];
    if (c == '"' || c == '\'') {
        for (i = 1; i < v.n && v.p[i] != c; i++)
            i += v.p[i] == '\\' && i + 1 < v.n;
        return i < v.n ? i + 1 : v.n;
    }
    if (c == '[' || c == '{' || c == '(') {
        char close = c == '[' ? ']' : c == '{' ? '}' : ')';
        while (i < v.n && v.p[i] != close)
            i++;
        return i < v.n ? i + 1 : v.n;
    }
    for (; i < v.n; i++) {
        c = v.p[i];
        if (c == '"' || c == '\'' || c == '\\' || c == '\n' || c == '}' || c == ']')
            break;
        if (sep != ':' && (blank(c) || c == ';' || c == '|'))
            break;
        if (c == ',' || c == '&')
            break;
    }
    return i;
}

static struct span trim_quotes(struct span v)
{
    while (v.n > 0 && (v.p[0] == '"' || v.p[0] == '\'' || v.p[0] == '\\' || blank(v.p[0])))
        v = from(v, 1);
    while (v.n > 0 && (v.p[v.n - 1] == '"' || v.p[v.n - 1] == '\'' || v.p[v.n - 1] == '\\' ||
                       blank(v.p[v.n - 1])))
        v.n--;
    return v;
}

static bool number(struct span v)
{
    for (size_t i = 0; i < v.n; i++)
        if (!mti_digit(v.p[i]) && v.p[i] != '.' && v.p[i] != '-' && v.p[i] != '+' &&
            v.p[i] != 'e' && v.p[i] != 'E' && v.p[i] != '_')
            return false;
    return v.n > 0;
}

static bool value_is_secret(enum says s, struct span v)
{
    v = trim_quotes(v);
    if (s == NO || one_of(v, plain) || same(v, MTI_REDACTED))
        return false;
    if (s == MAYBE)
        return !number(v) && looks_random(v);
    /* A reference to a variable holds nothing: $HF_TOKEN, ${oc.env:HF_TOKEN}. A path to a key is
     * not the key. */
    if (v.p[0] == '$' && v.n > 1 &&
        (v.p[1] == '{' ? v.p[v.n - 1] == '}' : v.n == 1 + run(from(v, 1), tokenbyte)))
        return false;
    return s == ALWAYS || v.p[0] != '/';
}

/* A name at t.p[i..j): is it followed by '=' or ':' or (a flag) by a blank and a value? *v: where
 * the value begins. */
static char separator(struct span t, size_t i, size_t j, size_t *v)
{
    size_t k = j;
    while (k < t.n && (t.p[k] == '"' || t.p[k] == '\'' || t.p[k] == '\\' || t.p[k] == ']'))
        k++;
    while (k < t.n && t.p[k] == ' ')
        k++;
    if (k < t.n && (t.p[k] == '=' || t.p[k] == ':')) {
        char sep = t.p[k++];
        if (sep == ':' && k + 1 < t.n && t.p[k] == '/' && t.p[k + 1] == '/')
            return 0;
        while (k < t.n && (t.p[k] == ' ' || t.p[k] == '='))
            k++;
        while (k < t.n && t.p[k] == '\\')
            k++;
        *v = k;
        return sep;
    }
    if (i < t.n && t.p[i] == '-' && j < t.n && t.p[j] == ' ') {
        k = j;
        while (k < t.n && t.p[k] == ' ')
            k++;
        if (k < t.n && t.p[k] != '-') {
            *v = k;
            return ' ';
        }
    }
    return 0;
}

static struct span bare(struct span name) /* without the dashes and hydra's marks before it */
{
    while (name.n > 0 && (name.p[0] == '-' || name.p[0] == '.' || name.p[0] == '_'))
        name = from(name, 1);
    return name;
}

/* "://" at t.p[i]: writes it, and the mark in place of credentials. Returns where to go on. */
static size_t url(struct out *o, struct span t, size_t begin, size_t i)
{
    bool ssh = starts_fold(from(t, begin), "ssh") || starts_fold(from(t, begin), "git+ssh");
    put(o, t.p + i, 3);
    i += 3;
    size_t n = userinfo(from(t, i), ssh);
    if (n > 0) {
        put_mark(o);
        i += n;
    }
    n = run(from(t, i), authority);
    if (mti_is_webhook(t.p + i, n)) {
        size_t rest = run(from(t, i + n), listed);
        put(o, t.p + i, n + (rest > 0));
        if (rest > 1)
            put_mark(o);
        i += n + rest;
    }
    return i;
}

/* A word at t.p[i..j). Writes it and what belongs to it; returns where to go on. */
static size_t text_word(struct out *o, struct span t, size_t i, size_t j, bool first)
{
    struct span name = {t.p + i, j - i};
    size_t n = form(name.n > 0 ? from(t, i) : name), v = 0;
    if (n > 0) {
        put_mark(o);
        return i + n;
    }
    if (j + 2 < t.n && memcmp(t.p + j, "://", 3) == 0) {
        put(o, name.p, name.n);
        return url(o, t, i, j);
    }
    if ((same(name, "bearer") || same(name, "basic")) && j < t.n && t.p[j] == ' ') {
        struct span rest = from(t, j + 1);
        n = run(rest, unquoted);
        if (n >= 8 && (mti_fold(name.p[1]) == 'e' || looks_random((struct span){rest.p, n}))) {
            put(o, name.p, name.n + 1);
            put_mark(o);
            return j + 1 + n;
        }
    }
    char sep = separator(t, i, j, &v);
    if (sep != 0) {
        enum says s = name_says(bare(name));
        struct span value = from(t, v);
        if (s == NO || (s == MAYBE && value.n > MAX_CREDENTIALS))
            value.n = s == NO ? 0 : MAX_CREDENTIALS; /* keeps the time linear */
        n = value_end(value, sep, first && sep == '=');
        value.n = n;
        if (value_is_secret(s, value)) {
            put(o, t.p + i, v - i);
            char quote =
                n > 1 && (value.p[0] == '"' || value.p[0] == '\'') && value.p[n - 1] == value.p[0]
                    ? value.p[0]
                    : 0;
            put(o, &quote, quote != 0);
            put_mark(o);
            put(o, &quote, quote != 0);
            return v + n;
        }
    }
    /* A form may begin inside a word: prefix-sk-..., a.hf_... */
    for (size_t k = i + 1; k < j; k++)
        if (!mti_word(t.p[k - 1]) && (n = form(from(t, k))) > 0) {
            put(o, t.p + i, k - i);
            put_mark(o);
            return k + n;
        }
    put(o, name.p, name.n);
    return j;
}

static void text(struct out *o, struct span t)
{
    bool first = true;
    for (size_t i = 0; i < t.n;) {
        if (starts(from(t, i), "-----BEGIN ") && t.n - i > 20) {
            put_mark(o);
            return;
        }
        if (namebyte(t.p[i])) {
            size_t j = i + run(from(t, i), namebyte);
            i = text_word(o, t, i, j, first);
            first = false;
        } else {
            first = first && (t.p[i] == '+' || t.p[i] == '~');
            put(o, t.p + i, 1);
            i++;
        }
    }
}

static struct out begin(char *out, size_t cap) { return (struct out){out, 0, cap}; }
static void end(struct out *o) { o->p[o->n] = '\0'; }

void mti_redact_env(const char *name, const char *value, char *out, size_t cap)
{
    if (cap == 0)
        return;
    struct out o = begin(out, cap);
    struct span v = {value, strlen(value)};
    if (value_is_secret(name_says((struct span){name, strlen(name)}), v))
        put_mark(&o);
    else
        text(&o, v);
    end(&o);
}

enum next { NEXT_ANY, NEXT_SECRET, NEXT_ALWAYS, NEXT_MAYBE, NEXT_USER, NEXT_COMMIT };

static int next_of(struct span a)
{
    if (same(a, "-u") || same(a, "--user") || same(a, "--proxy-user"))
        return NEXT_USER;
    if (same(a, "login"))
        return NEXT_MAYBE;
    if (a.n < 2 || a.p[0] != '-' || run(a, namebyte) != a.n)
        return NEXT_ANY;
    static const char *const commits[] = {"revision", "commit", "sha",  "sha1",
                                          "rev",      "ref",    "hash", NULL};
    if (ends_in(a, commits))
        return NEXT_COMMIT;
    switch (name_says(bare(a))) {
    case ALWAYS: return NEXT_ALWAYS;
    case YES: return NEXT_SECRET;
    case MAYBE: return NEXT_MAYBE;
    case NO: break;
    }
    return NEXT_ANY;
}

void mti_redact_arg(struct mti_redact *r, const char *arg, char *out, size_t cap)
{
    struct span a = {arg, strlen(arg)};
    int before = r->next;
    bool flag = starts(a, "--") || (a.n == 2 && a.p[0] == '-');
    bool is_commit = r->git == 2 && mti_is_commit(a.p, a.n);
    r->next = next_of(a);
    r->git = mti_git_word(r->git, a.p, a.n);
    if (cap == 0)
        return;
    struct out o = begin(out, cap);
    bool hide = false;
    if ((before == NEXT_SECRET || before == NEXT_ALWAYS) && !flag)
        hide = value_is_secret(before == NEXT_ALWAYS ? ALWAYS : YES, a);
    else if (before == NEXT_MAYBE && !flag)
        hide = value_is_secret(MAYBE, a);
    else if (before == NEXT_USER && !flag && memchr(a.p, ':', a.n) != NULL)
        hide = memchr(a.p, '/', a.n) == NULL;
    if (hide || (before != NEXT_COMMIT && !is_commit && mti_is_bare_key(a.p, a.n))) {
        put_mark(&o);
        r->next = NEXT_ANY;
    } else {
        text(&o, a);
    }
    end(&o);
}
