/* redact/path.c -- of a path stays what is the same on everybody's machine: the part inside a
 * package that anybody can install, the standard library, folders of the system, and the names of
 * source files. All folders above become one token. */
#include "cli/redact/impl.h"

#include <string.h>
#include <strings.h>

/* ---- the last component ---- */

static size_t last_dot(const char *s, size_t n)
{
    size_t i = n;
    while (i > 0 && s[i - 1] != '.')
        i--;
    return i > 1 ? i - 1 : n; /* a dot at the beginning hides a file; it ends nothing */
}

/* Letters of both cases and digits in turn, as tokens have them and no name of code does:
 * "aB3xY9..." */
static bool is_random(const char *s, size_t n)
{
    enum { LONG = 20, TURNS = 6 };
    for (size_t i = 0; i < n;) {
        size_t from = i, turns = 0;
        bool upper = false, lower = false;
        for (; i < n && mt_red_alnum(s[i]); i++) {
            upper |= s[i] >= 'A' && s[i] <= 'Z';
            lower |= s[i] >= 'a' && s[i] <= 'z';
            turns += i > from && mt_red_digit(s[i]) != mt_red_digit(s[i - 1]);
        }
        if (upper && lower && turns >= TURNS && i - from >= LONG)
            return true;
        i += i == from || i < n;
    }
    return false;
}

/* libfoo.so.1.2 ends as libfoo.so does. */
static bool is_code(const struct mt_redact *r, const char *s, size_t n)
{
    size_t at;
    if (n > 10 && memcmp(s + n - 10, " (deleted)", 10) == 0) /* as the kernel writes it */
        n -= 10;
    at = last_dot(s, n);
    while (at < n && mt_redact_all_digits(s + at + 1, n - at - 1)) {
        n = at;
        at = last_dot(s, n);
    }
    return at < n && mt_redact_in(r, MT_RED_CODE_ENDS, s + at + 1, n - at - 1) && !is_random(s, at);
}

/* "node7", "host-12": words and numbers, and yet what a machine is called. */
static bool is_machine(const char *s, size_t n, size_t word)
{
    static const char *const called[] = {"node", "host", "server", NULL};
    size_t letters = word;
    while (letters > 0 && mt_red_digit(s[letters - 1]))
        letters--;
    if (letters == word && !(word + 1 < n && s[word] == '-' && mt_red_digit(s[word + 1])))
        return false;
    for (int i = 0; called[i] != NULL; i++)
        if (strlen(called[i]) == letters && strncasecmp(called[i], s, letters) == 0)
            return true;
    return false;
}

static bool plain_name(const struct mt_redact *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && mt_red_alnum(s[k]))
            k++;
        if (k > i && !mt_redact_plain_word(r, s + i, k - i))
            return false;
        if (k < n && strchr("_-. ", s[k]) == NULL)
            return false;
        if (is_machine(s + i, n - i, k - i))
            return false;
        i = k + 1;
    }
    return true;
}

/* Where an address begins in the name of a file or folder, and how long it is. A dot before it is a
 * border too, but not in libfoo.so.1.2.3.4. */
static size_t find_address(const char *s, size_t n, bool is_code, size_t *len)
{
    for (size_t i = 0; i < n; i++) {
        bool fresh = i == 0 || (!mt_red_alnum(s[i - 1]) && (s[i - 1] != '.' || !is_code));
        if (fresh && mt_red_digit(s[i]) && (*len = mt_redact_ipv4(s + i, n - i)) > 0)
            return i;
    }
    return n;
}

static void base(struct mt_redact *r, const char *s, size_t n, struct mt_out *o);

/* What stands before an address in a name, or behind it. */
static void piece(struct mt_redact *r, const char *s, size_t n, struct mt_out *o)
{
    if (n > 1 && s[0] == '.' &&
        (mt_redact_in(r, MT_RED_CODE_ENDS, s + 1, n - 1) ||
         mt_redact_in(r, MT_RED_DATA_ENDS, s + 1, n - 1)))
        mt_put(o, s, n);
    else if (n > 0)
        base(r, s, n, o);
}

static void base(struct mt_redact *r, const char *s, size_t n, struct mt_out *o)
{
    size_t stem = n, len = 0, from = find_address(s, n, is_code(r, s, n), &len);
    if (from < n) {
        piece(r, s, from, o);
        mt_redact_token(r, "host", s + from, len, o);
        piece(r, s + from + len, n - from - len, o);
        return;
    }
    if (is_code(r, s, n)) {
        mt_redact_with_known(r, s, n, o);
        return;
    }
    for (size_t dot = last_dot(s, stem);
         dot < stem && mt_redact_in(r, MT_RED_DATA_ENDS, s + dot + 1, stem - dot - 1);
         dot = last_dot(s, stem))
        stem = dot;
    if (plain_name(r, s, stem) || mt_redact_is_package(r, s, stem) ||
        mt_redact_in(r, MT_RED_SYSTEMS, s, stem))
        mt_redact_with_known(r, s, stem, o);
    else
        mt_redact_token(r, stem < n ? "file" : "name", s, stem, o);
    mt_put(o, s + stem, n - stem);
}

/* ---- folders ---- */

static bool is_sep(char c) { return c == '/' || c == '\\'; }
static size_t component(const char *s, size_t n, size_t at)
{
    size_t k = at;
    while (k < n && !is_sep(s[k]))
        k++;
    return k - at;
}

static bool is_python_folder(const char *s, size_t n)
{
    if (n < 7 || memcmp(s, "python", 6) != 0)
        return false;
    for (size_t i = 6; i < n; i++)
        if (!mt_red_digit(s[i]) && s[i] != '.')
            return false;
    return true;
}

static bool is_system(const struct mt_redact *r, const char *s, size_t n)
{
    return n == 0 || mt_redact_in(r, MT_RED_SYSTEMS, s, n) || is_python_folder(s, n) ||
           (n >= 4 && memcmp(s, "cuda", 4) == 0 && (n == 4 || s[4] == '-'));
}

struct kept {
    size_t from;  /* first byte that stays */
    bool whole;   /* everything from there on is public */
    bool library; /* from there on it is the standard library */
    bool systems; /* all folders are the system's: nothing has to go */
};

/* Behind lib/python3.11/ is a file or a folder that Python comes with. Whose project lies in a
 * folder called python3 has others. */
static bool is_library(const struct mt_redact *r, const char *s, size_t dirs, size_t at)
{
    return at >= dirs || mt_redact_in(r, MT_RED_LIBRARY, s + at, component(s, dirs, at));
}

/* Where the folders begin, from the end, that nobody is told by ("utils/models/"), and that rules
 * ask for. */
static size_t plain_tail(const struct mt_redact *r, const char *s, size_t dirs)
{
    size_t tail = dirs;
    while (tail > 0) {
        size_t at = tail - 1;
        while (at > 0 && !is_sep(s[at - 1]))
            at--;
        if (!mt_redact_in(r, MT_RED_INSIDE, s + at, tail - 1 - at))
            break;
        tail = at;
    }
    return tail;
}

/* A folder that packages have, or that the package right above it has. */
static bool is_inside(const struct mt_redact *r, const char *s, size_t at, size_t n)
{
    size_t above = at;
    while (above > 1 && !is_sep(s[above - 2]))
        above--;
    return mt_redact_in(r, MT_RED_INSIDE, s + at, n) ||
           (at > above && mt_framework_is_inside(r->fw, s + above - 1, at - above, s + at, n));
}

/* dirs: the path up to and with the last separator. */
static struct kept what_stays(const struct mt_redact *r, const char *s, size_t dirs)
{
    struct kept k = {.from = dirs, .systems = true};
    bool below = false; /* site-packages */
    size_t site = 0, chain = dirs;
    for (size_t at = 0; at < dirs;) {
        size_t n = component(s, dirs, at);
        const char *c = s + at;
        if (below && mt_redact_is_package(r, c, n)) {
            k.from = site;
            k.whole = true;
            return k;
        }
        if (!is_system(r, c, n))
            k.systems = false;
        if (n == 13 &&
            (memcmp(c, "site-packages", 13) == 0 || memcmp(c, "dist-packages", 13) == 0)) {
            below = true;
            site = at;
            k.from = chain = dirs;
            k.library = false;
        } else {
            below = false;
            if (!k.library && mt_redact_is_package(r, c, n)) {
                if (chain == dirs)
                    chain = at;
                k.from = chain;
            } else {
                if (!is_inside(r, s, at, n) && !mt_redact_all_digits(c, n))
                    chain = dirs;
                /* the standard library, unless site-packages follow */
                if (is_python_folder(c, n) && is_library(r, s, dirs, at + n + 1)) {
                    k.from = at;
                    k.library = true;
                }
            }
        }
        at += n + 1;
    }
    if (k.from == dirs)
        k.from = plain_tail(r, s, dirs);
    /* lib/python3.11/ */
    if (k.library && k.from >= 4 && memcmp(s + k.from - 4, "lib", 3) == 0)
        k.from -= 4;
    return k;
}

static void folders(struct mt_redact *r, const char *s, size_t n, const struct kept *k,
                    struct mt_out *o)
{
    for (size_t at = 0; at < n;) {
        size_t len = component(s, n, at), ip;
        mt_str_id to;
        bool whole = k->whole && find_address(s + at, len, false, &ip) == len;
        bool library = k->library &&
                       (is_system(r, s + at, len) || mt_redact_in(r, MT_RED_LIBRARY, s + at, len));
        if (whole || library || mt_redact_is_package(r, s + at, len) || is_inside(r, s, at, len) ||
            mt_redact_all_digits(s + at, len) || (len <= 2 && s[at] == '.'))
            mt_put(o, s + at, len);
        else if (mt_redact_known(r, s + at, len, &to) == len)
            mt_put(o, r->str.ref.p[to].p, r->str.ref.p[to].len);
        else
            mt_redact_token(r, "dir", s + at, len, o);
        at += len;
        if (at < n)
            mt_putc(o, s[at++]);
    }
}

/* "<string>", "<frozen importlib._bootstrap>", "??": no file at all. */
static bool is_no_file(const char *s, size_t n)
{
    return n == 0 ||
           (s[0] == '<' && s[n - 1] == '>' && memchr(s, '/', n) == NULL &&
            memchr(s, '\\', n) == NULL) ||
           (n == 2 && memcmp(s, "??", 2) == 0);
}

/* The name of a public model, as "Qwen/Qwen2.5-7B". */
static bool is_public_model(const struct mt_redact *r, const char *s, size_t n)
{
    size_t first = component(s, n, 0);
    return first < n && component(s, n, first + 1) == n - first - 1 &&
           mt_redact_in(r, MT_RED_PUBLISHERS, s, first);
}

void mt_redact_path(struct mt_redact *r, const char *s, size_t n, struct mt_out *o)
{
    size_t dirs = n, prefix;
    struct kept k;
    if (is_no_file(s, n) || is_public_model(r, s, n)) {
        mt_redact_with_known(r, s, n, o);
        return;
    }
    while (dirs > 0 && !is_sep(s[dirs - 1]))
        dirs--;
    k = what_stays(r, s, dirs);
    if (k.systems && dirs > 0) {
        k.from = 0;
        k.whole = true;
    }
    prefix = k.from;
    while (prefix > 0 && is_sep(s[prefix - 1])) /* the token stands for the folders without the
                                                   separator that ends them */
        prefix--;
    if (prefix > 0) {
        if (is_sep(s[0]))
            mt_putc(o, s[0]);
        mt_redact_token(r, "dir", s, prefix, o);
    }
    mt_put(o, s + prefix, k.from - prefix);
    folders(r, s + k.from, dirs - k.from, &k, o);
    if (dirs < n)
        base(r, s + dirs, n - dirs, o);
}

static bool is_home(const char *s, size_t n)
{
    return (n == 4 && memcmp(s, "home", 4) == 0) ||
           (n == 5 && (memcmp(s, "homes", 5) == 0 || memcmp(s + 1, "sers", 4) == 0) &&
            (s[0] == 'h' || s[0] == 'U' || s[0] == 'u'));
}

const char *mt_redact_user_in(const char *s, size_t n, size_t *len)
{
    for (size_t at = 0; at < n;) {
        size_t k = component(s, n, at);
        size_t next = at + k + 1;
        if (next < n && is_home(s + at, k)) {
            *len = component(s, n, next);
            return *len > 0 ? s + next : NULL;
        }
        at = next;
    }
    return NULL;
}
