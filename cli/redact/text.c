/* redact/text.c -- where in a text there is a name: paths, addresses, e-mail, values whose key says
 * so, and names that are known.
 *
 * One pass from left to right; every byte is looked at a bounded number of times. */
#include "cli/redact/impl.h"
#include "capture/inject/redact.h"

#include <string.h>

enum { QUOTED_MOST = 4096, WORD_MOST = 512 };

struct walk {
    struct mt_redact *r;
    enum mt_redact_as how;
    bool single; /* one argument of a command line: its value goes on to its end */
    bool learn;  /* the output is thrown away; names are kept */
    const char *s;
    size_t n, i;
    struct mt_out *o;
};

static char at(const struct walk *w, size_t i) { return i < w->n ? w->s[i] : '\0'; }
static bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
static bool is_word(char c)
{
    return mt_red_alnum(c) || c == '_' || c == '.' || c == '-' || c == '+';
}

static void put_token(struct walk *w, const char *kind, const char *s, size_t n)
{
    if (w->learn)
        mt_redact_learn(w->r, kind, s, n);
    else
        mt_redact_token(w->r, kind, s, n, w->o);
}

/* ---- keys and values ---- */

enum mt_key_kind mt_redact_key(const char *s, size_t n)
{
    static const struct {
        const char *word;
        enum mt_key_kind kind;
    } keys[] = {
        {"user", MT_KEY_USER},
        {"username", MT_KEY_USER},
        {"user_name", MT_KEY_USER},
        {"logname", MT_KEY_USER},
        {"entity", MT_KEY_USER},
        {"account", MT_KEY_USER},
        {"email", MT_KEY_USER},
        {"login", MT_KEY_USER},
        {"owner", MT_KEY_USER},
        {"project", MT_KEY_NAME},
        {"project_name", MT_KEY_NAME},
        {"experiment", MT_KEY_NAME},
        {"experiment_name", MT_KEY_NAME},
        {"exp_name", MT_KEY_NAME},
        {"run_name", MT_KEY_NAME},
        {"run_group", MT_KEY_NAME},
        {"job_name", MT_KEY_NAME},
        {"jobname", MT_KEY_NAME},
        {"trial_name", MT_KEY_NAME},
        {"host", MT_KEY_HOST},
        {"hosts", MT_KEY_HOST},
        {"hostname", MT_KEY_HOST},
        {"host_name", MT_KEY_HOST},
        {"nodelist", MT_KEY_HOST},
        {"nodename", MT_KEY_HOST},
        {"node_name", MT_KEY_HOST},
        {"addr", MT_KEY_HOST},
        {"address", MT_KEY_HOST},
        {"endpoint", MT_KEY_HOST},
        {"ip", MT_KEY_HOST},
        {"cluster", MT_KEY_NAME},
        {"partition", MT_KEY_NAME},
        {"queue_name", MT_KEY_NAME},
        {"namespace", MT_KEY_NAME},
        {"team", MT_KEY_NAME},
        {"organization", MT_KEY_NAME},
    };
    for (size_t i = n; i > 0; i--)
        if (s[i - 1] == '.' || s[i - 1] == ':') {
            s += i;
            n -= i;
            break;
        }
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        size_t len = strlen(keys[k].word), i = 0;
        if (n < len || (n > len && s[n - len - 1] != '_' && s[n - len - 1] != '-'))
            continue;
        while (i < len && (mt_red_fold(s[n - len + i]) == keys[k].word[i] ||
                           (s[n - len + i] == '-' && keys[k].word[i] == '_')))
            i++;
        if (i == len)
            return keys[k].kind;
    }
    return MT_KEY_NONE;
}

/* Values that name nobody. */
bool mt_redact_is_plain_value(const char *s, size_t n)
{
    static const char *const plain[] = {"true", "false",     "none",    "null",     "yes", "no",
                                        "on",   "off",       "auto",    "set",      "all", "cpu",
                                        "cuda", "localhost", "0.0.0.0", "127.0.0.1"};
    bool digits = true;
    for (size_t i = 0; i < n; i++)
        digits &= mt_red_digit(s[i]) || s[i] == '.' || s[i] == '-' || s[i] == 'e' || s[i] == '_';
    if (n == 0 || s[0] == '$' ||
        (n >= sizeof MTI_REDACTED - 1 && memcmp(s, MTI_REDACTED, sizeof MTI_REDACTED - 1) == 0))
        return true;
    if (digits && memchr(s, '.', n) == NULL)
        return true;
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
        size_t i = 0;
        while (i < n && plain[k][i] != '\0' && mt_red_fold(s[i]) == plain[k][i])
            i++;
        if (i == n && plain[k][i] == '\0')
            return true;
    }
    return false;
}

const char *mt_redact_kind_words(enum mt_key_kind k)
{
    return k == MT_KEY_HOST ? "host" : k == MT_KEY_USER ? "user" : "name";
}

/* 'trainer.project_name=it'\\''s ours': the argument ends at the quote that began before its key.
 */
static size_t quoted_end(const struct walk *w, size_t from, char quote)
{
    size_t to = from;
    while (to < w->n && w->s[to] != quote) {
        to++;
        if (w->n - to > 4 && quote == '\'' && memcmp(w->s + to, "'\\''", 4) == 0)
            to += 4;
    }
    return to;
}

/* The value at w->i of a key of this kind; outer: the quote before the key, or 0. */
static void put_value(struct walk *w, enum mt_key_kind kind, char outer)
{
    char quote = is_quote(at(w, w->i)) && outer == '\0' ? at(w, w->i) : '\0';
    size_t from = w->i + (quote != '\0'), to = from, port;
    if (outer != '\0')
        to = quoted_end(w, from, outer);
    else if (w->single)
        to = w->n;
    while (outer == '\0' && to < w->n &&
           (quote != '\0' ? w->s[to] != quote : !mt_red_blank(w->s[to]) && !is_quote(w->s[to])) &&
           (kind == MT_KEY_HOST || quote != '\0' || strchr(",;&}])", w->s[to]) == NULL))
        to++;
    if (mt_redact_is_plain_value(w->s + from, to - from) ||
        memchr(w->s + from, '/', to - from) != NULL)
        return; /* a path or an address of its own: the rest of the text's rules see to it */
    if (quote != '\0')
        mt_putc(w->o, quote);
    port = to;
    while (kind == MT_KEY_HOST && port > from && mt_red_digit(w->s[port - 1]))
        port--;
    if (port == to || port <= from + 1 || w->s[port - 1] != ':')
        port = to;
    else
        port--;
    put_token(w, mt_redact_kind_words(kind), w->s + from, port - from);
    mt_put(w->o, w->s + port, to - port);
    w->i = to;
}

/* ---- paths and addresses ---- */

static size_t path_end(const struct walk *w, size_t from)
{
    size_t to = from;
    char quote = from > 0 && is_quote(w->s[from - 1]) ? w->s[from - 1] : '\0';
    if (quote != '\0') { /* blanks belong to it */
        for (to = from;
             to < w->n && to - from < QUOTED_MOST && w->s[to] != quote && w->s[to] != '\n'; to++) {
        }
        if (at(w, to) == quote)
            return to;
    }
    for (to = from; to < w->n; to++) {
        char c = w->s[to], next = at(w, to + 1);
        if (mt_red_blank(c) || is_quote(c) || c == '<' || c == '>' || c == '|' || c == ';')
            break;
        if (c == ':' && !(to == from + 1 && (next == '\\' || next == '/')))
            break;
        if (c == ',' && (next == '/' || next == '~' || mt_red_blank(next) || is_quote(next)))
            break;
    }
    while (to > from + 1 && strchr(".,!?)]}", w->s[to - 1]) != NULL)
        to--;
    return to;
}

static void put_path(struct walk *w)
{
    size_t to = path_end(w, w->i), len;
    const char *user;
    if (w->learn) {
        user = mt_redact_user_in(w->s + w->i, to - w->i, &len);
        if (user != NULL)
            mt_redact_learn(w->r, "user", user, len);
    } else {
        mt_redact_path(w->r, w->s + w->i, to - w->i, w->o);
    }
    w->i = to;
}

static bool starts_path(const struct walk *w)
{
    char c = w->s[w->i], before = w->i > 0 ? w->s[w->i - 1] : ' ', next = at(w, w->i + 1);
    bool fresh = !mt_red_alnum(before) && before != '/' && before != '\\' && before != '.' &&
                 before != '_' && before != '-' && before != '<' && before != '~' && before != '*';
    bool name = mt_red_alnum(next) || next == '.' || next == '_' || next == '-' || next == '~' ||
                next == '@';
    if (c == '/' && fresh && name)
        return path_end(w, w->i) - w->i >= 4;
    if (c == '~' && fresh)
        return next == '/' || (w->how == MT_AS_ARGS && mt_red_alnum(next)) ||
               (mt_red_alnum(next) && !mt_red_digit(next) &&
                memchr(w->s + w->i, '/', path_end(w, w->i) - w->i) != NULL);
    if (c == '\\' && next == '\\' && w->how != MT_AS_CODE && fresh)
        return memchr(w->s + w->i + 2, '\\',
                      path_end(w, w->i) > w->i + 2 ? path_end(w, w->i) - w->i - 2 : 0) != NULL;
    return mt_red_alnum(c) && !mt_red_digit(c) && fresh && next == ':' &&
           (at(w, w->i + 2) == '\\' || (at(w, w->i + 2) == '/' && at(w, w->i + 3) != '/'));
}

/* Of these the name stays. */
static bool is_public_host(const struct mt_redact *r, const char *s, size_t n)
{
    return mt_redact_in(r, MT_RED_SITES, s, n) || mt_redact_in(r, MT_RED_DOCS, s, n);
}

/* After "://". */
static void put_url(struct walk *w)
{
    size_t from = w->i, to = from, end, host_end;
    while (to < w->n && to - from < WORD_MOST && !mt_red_blank(w->s[to]) && !is_quote(w->s[to]) &&
           strchr("/?#,;<>(){}|\\", w->s[to]) == NULL)
        to++;
    for (size_t k = from; k < to; k++)
        if (w->s[k] == '@') {
            if (w->s[from] != '[') /* what is in brackets was a secret and is gone already */
                put_token(w, "user", w->s + from, k - from);
            else
                mt_put(w->o, w->s + from, k - from);
            mt_putc(w->o, '@');
            from = k + 1;
        }
    host_end = to;
    while (host_end > from && mt_red_digit(w->s[host_end - 1]))
        host_end--;
    host_end = host_end > from && w->s[host_end - 1] == ':' ? host_end - 1 : to;
    if (mt_redact_is_plain_value(w->s + from, host_end - from) ||
        is_public_host(w->r, w->s + from, host_end - from))
        mt_put(w->o, w->s + from, host_end - from);
    else
        put_token(w, "host", w->s + from, host_end - from);
    mt_put(w->o, w->s + host_end, to - host_end);
    w->i = to;
    if (at(w, to) != '/' && at(w, to) != '?' && at(w, to) != '#')
        return;
    end = path_end(w, to);
    if (from == to) { /* file:///home/... */
        put_path(w);
        return;
    }
    if (mt_redact_in(w->r, MT_RED_DOCS, w->s + from, host_end - from)) {
        mt_put(w->o, w->s + to, end - to);
    } else if (end > to + 1 && !w->learn) {
        mt_putc(w->o, w->s[to]);
        mt_redact_token(w->r, "path", w->s + to + 1, end - to - 1, w->o);
    } else if (end > to) {
        mt_putc(w->o, w->s[to]);
    }
    w->i = end;
}

/* ---- words ---- */

static size_t word_end(const struct walk *w, size_t i)
{
    while (i < w->n && is_word(w->s[i]))
        i++;
    return i;
}

/* What follows a host: ":5000/team/image", or ":team/repository" behind git@host. */
static void put_behind(struct walk *w, bool is_mail)
{
    size_t k = w->i + 1, end;
    if (at(w, w->i) != ':')
        return;
    while (!is_mail && mt_red_digit(at(w, k)))
        k++;
    if (is_mail ? !mt_red_alnum(at(w, k)) : at(w, k) != '/' || k == w->i + 1)
        return;
    k += !is_mail;
    end = path_end(w, k);
    if (end <= k || (is_mail && memchr(w->s + k, '/', end - k) == NULL))
        return;
    mt_put(w->o, w->s + w->i, k - w->i);
    if (!w->learn)
        mt_redact_token(w->r, "path", w->s + k, end - k, w->o);
    w->i = end;
}

/* "node-17.acme.internal", "dgx[001-004]", "ip-10-1-2-3" */
static bool put_host(struct walk *w, size_t end)
{
    size_t len = mt_redact_host(w->r, w->s + w->i, w->n - w->i, end - w->i);
    if (len == 0)
        return false;
    put_token(w, "host", w->s + w->i, len);
    w->i += len;
    put_behind(w, false);
    return true;
}

/* user@host: both go. */
static bool put_mail(struct walk *w, size_t end)
{
    size_t to = word_end(w, end + 1);
    while (to > end + 1 && !mt_red_alnum(w->s[to - 1]))
        to--;
    if (at(w, end) != '@' || to <= end + 1 || !mt_red_alnum(at(w, end + 1)) ||
        end - w->i > WORD_MOST || to - end > WORD_MOST ||
        (w->how != MT_AS_ARGS && memchr(w->s + end, '.', to - end) == NULL))
        return false;
    put_token(w, "user", w->s + w->i, end - w->i);
    mt_putc(w->o, '@');
    put_token(w, "host", w->s + end + 1, to - end - 1);
    w->i = to;
    put_behind(w, true);
    return true;
}

/* KEY=VALUE, KEY: VALUE, --KEY VALUE, where the key says that the value is a name. */
static bool put_pair(struct walk *w, size_t end)
{
    enum mt_key_kind kind;
    size_t v = end, start = w->i;
    char sep = at(w, end);
    bool flag = w->s[w->i] == '-';
    if (sep == '"' || sep == '\'')
        sep = at(w, ++v);
    if (sep != '=' && sep != ':' && !(sep == ' ' && flag && v == end))
        return false;
    if (sep == ':' && at(w, v + 1) == '/' && at(w, v + 2) == '/')
        return false;
    kind = mt_redact_key(w->s + w->i, end - w->i);
    if (kind == MT_KEY_NONE)
        return false;
    for (v++; at(w, v) == ' '; v++) {
    }
    if (sep == ' ' && at(w, v) == '-')
        return false;
    mt_redact_with_known(w->r, w->s + start, v - start, w->o);
    w->i = v;
    put_value(w, kind,
              start > 0 && is_quote(w->s[start - 1]) && sep == '=' ? w->s[start - 1] : '\0');
    return true;
}

/* A path that does not begin with a separator, in a command line: data/falcon/train.parquet */
static bool put_relative(struct walk *w, size_t end)
{
    size_t to;
    bool digits = true;
    if (w->how != MT_AS_ARGS || (at(w, end) != '/' && at(w, end) != '\\') ||
        at(w, end + 1) == '/' || end == w->i)
        return false;
    to = path_end(w, w->i);
    for (size_t k = w->i; k < to; k++)
        digits &= mt_red_digit(w->s[k]) || w->s[k] == '/' || w->s[k] == '.';
    if (digits || to <= end + 1 || (to == end + 2 && w->s[end + 1] == 's')) /* 1/2; tokens/s */
        return false;
    put_path(w);
    return true;
}

/* "python -m falcon.train": the package is a project's unless it is a known one. */
static bool put_module(struct walk *w, size_t end)
{
    size_t dot = w->i, from = w->i;
    if (w->how != MT_AS_ARGS || w->i < 3 || memcmp(w->s + w->i - 3, "-m ", 3) != 0)
        return false;
    while (dot < end && w->s[dot] != '.')
        dot++;
    if (mt_redact_is_common(w->r, w->s + from, dot - from))
        return false;
    put_token(w, "name", w->s + from, dot - from);
    w->i = dot;
    return true;
}

/* The word before i, without what stands between: "cudnn: 9.1.0.70", "nvidia-cudnn-cu12==9.1.0.70".
 */
static size_t word_before(const struct walk *w, size_t i, size_t *from)
{
    size_t to = i;
    while (to > 0 && i - to < 4 && strchr(" :=(v", w->s[to - 1]) != NULL)
        to--;
    for (*from = to; *from > 0 && to - *from < 64 && (is_word(w->s[*from - 1]));)
        (*from)--;
    return to;
}

/* Libraries of four numbers: a part of the word before says so. */
static bool is_version(const struct walk *w, size_t i)
{
    size_t from, to = word_before(w, i, &from);
    for (size_t k = from; k < to;) {
        char word[64];
        size_t end = k;
        for (; end < to && mt_red_alnum(w->s[end]); end++)
            word[end - k] = mt_red_fold(w->s[end]);
        if (mt_redact_in(w->r, MT_RED_VERSIONED, word, end - k))
            return true;
        k = end + 1;
    }
    return false;
}

/* A command of this line that takes "-uUSER:PASSWORD" stands before i. */
static bool behind_client(const struct walk *w, size_t i)
{
    size_t from = i, least = i > WORD_MOST ? i - WORD_MOST : 0;
    while (from > least && w->s[from - 1] != '\n') {
        size_t to = from;
        while (from > least && is_word(w->s[from - 1]))
            from--;
        if (mt_redact_in(w->r, MT_RED_CLIENTS, w->s + from, to - from))
            return true;
        if (from == to)
            from--;
    }
    return false;
}

static bool all_digits(const struct walk *w, size_t from, size_t to)
{
    while (from < to && mt_red_digit(w->s[from]))
        from++;
    return from == to;
}

/* "-u user:password", as curl has it. Nothing is learned: elsewhere it is "sort -u host:port". */
static bool put_login(struct walk *w, size_t end)
{
    size_t from, colon, to;
    bool apart = at(w, end) == ' ' || at(w, end) == '=' || is_quote(at(w, end));
    char quote;
    if (apart && ((end - w->i == 2 && memcmp(w->s + w->i, "-u", 2) == 0) ||
                  (end - w->i == 6 && memcmp(w->s + w->i, "--user", 6) == 0)))
        from = is_quote(at(w, end)) ? end : end + 1;
    else if (end - w->i > 2 && memcmp(w->s + w->i, "-u", 2) == 0 && behind_client(w, w->i))
        from = w->i + 2;
    else
        return false;
    quote = is_quote(at(w, from)) ? w->s[from++] : '\0';
    for (colon = from; is_word(at(w, colon)) || at(w, colon) == '@';)
        colon++;
    if (at(w, colon) != ':' || colon == from)
        return false;
    to = colon + 1;
    while (to < w->n && w->s[to] != '\n' &&
           (quote != '\0' ? w->s[to] != quote : !mt_red_blank(w->s[to]) && !is_quote(w->s[to])))
        to += w->s[to] == '\\' && to + 1 < w->n ? 2 : 1;
    if (to == colon + 1 || (w->s[colon + 1] == '/' && !behind_client(w, w->i)) ||
        (all_digits(w, from, colon) && all_digits(w, colon + 1, to)))
        return false;
    mt_put(w->o, w->s + w->i, from - w->i);
    mt_puts(w->o, MTI_REDACTED ":" MTI_REDACTED);
    w->i = to;
    return true;
}

/* An address or an id, unless it is a version or a commit. */
static bool put_address(struct walk *w)
{
    const char *kind;
    size_t len = mt_redact_address(w->s + w->i, w->n - w->i, &kind);
    if (len == 0)
        return false;
    if ((mt_red_digit(w->s[w->i]) && mt_redact_ipv4(w->s + w->i, w->n - w->i) == len &&
         is_version(w, w->i)) ||
        (mti_is_commit(w->s + w->i, len) && mti_is_behind_git(w->s, w->i)))
        mt_put(w->o, w->s + w->i, len);
    else
        put_token(w, kind, w->s + w->i, len);
    w->i += len;
    return true;
}

/* Inside a word an address begins behind what is no digit: worker_10.1.2.3_rank0, ip10.1.2.3; but
 * v1.2.3.4 is a version. */
static bool is_inner_address(const struct walk *w, size_t i)
{
    char before = i > 0 ? w->s[i - 1] : ' ';
    if (w->how == MT_AS_CODE || !mt_red_digit(at(w, i)) || mt_red_digit(before) || before == '.' ||
        ((before == 'v' || before == 'V') && (i < 2 || !mt_red_alnum(w->s[i - 2]))))
        return false;
    return mt_redact_ipv4(w->s + i, w->n - i) > 0 && !is_version(w, i);
}

static bool put_special(struct walk *w)
{
    size_t end = word_end(w, w->i);
    if (at(w, end) == ':' && at(w, end + 1) == '/' && at(w, end + 2) == '/' && end > w->i) {
        mt_put(w->o, w->s + w->i, end + 3 - w->i);
        w->i = end + 3;
        put_url(w);
        return true;
    }
    return put_address(w) || put_login(w, end) || put_mail(w, end) || put_host(w, end) ||
           (w->how == MT_AS_ARGS && put_pair(w, end)) || put_relative(w, end) || put_module(w, end);
}

static void pass(struct walk *w)
{
    while (w->i < w->n) {
        size_t from = w->i, len;
        char c = w->s[from], before = from > 0 ? w->s[from - 1] : ' ';
        mt_str_id to;
        if (starts_path(w)) {
            put_path(w);
            continue;
        }
        /* a word is looked at once, from its beginning */
        if (w->how != MT_AS_CODE && (is_word(c) || c == '$' || c == ':') && !is_word(before) &&
            before != '@' &&
            (before == '/' ? put_address(w) || put_host(w, word_end(w, from)) : put_special(w)))
            continue;
        w->i = from;
        if (is_inner_address(w, from)) {
            len = mt_redact_ipv4(w->s + from, w->n - from);
            put_token(w, "host", w->s + from, len);
            w->i += len;
            continue;
        }
        len = mt_red_alnum(c) && !mt_red_alnum(before)
                  ? mt_redact_known(w->r, w->s + from, w->n - from, &to)
                  : 0;
        if (len > 0) {
            mt_put(w->o, w->r->str.ref.p[to].p, w->r->str.ref.p[to].len);
            w->i += len;
            continue;
        }
        do {
            w->i++;
        } while (mt_red_alnum(c) && w->i < w->n && mt_red_alnum(w->s[w->i]) &&
                 !is_inner_address(w, w->i));
        mt_put(w->o, w->s + from, w->i - from);
    }
}

void mt_redact_walk(struct mt_redact *r, enum mt_redact_as how, bool single, const char *s,
                    size_t n, struct mt_out *o, bool learn)
{
    struct walk w = {.r = r,
                     .how = how,
                     .single = how == MT_AS_ARGS && single,
                     .learn = learn,
                     .s = s,
                     .n = n,
                     .o = o};
    pass(&w);
}
