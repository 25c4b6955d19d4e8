#include "render/base/escape.h"

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#endif
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* U+FFFD, what every byte sequence that is not UTF-8 becomes. */
#define BAD "\xef\xbf\xbd"

enum cp_class {
    CP_TEXT,    /* shown as it is */
    CP_BAD,     /* not UTF-8 */
    CP_CONTROL, /* C0 and DEL: has a picture of its own in Unicode */
    CP_HIDDEN /* invisible or re-ordering: C1, bidirectional controls, separators, byte-order mark,
                 tags */
};

struct cp {
    uint32_t c;
    size_t len; /* bytes taken, at least 1 */
    enum cp_class cls;
};

static bool is_hidden(uint32_t c)
{
    return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe0fff) || (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

/* One code point of s[0..n), n > 0. A broken sequence takes its longest valid beginning, as Unicode
 * recommends, so that a good character after it is not swallowed. */
static struct cp next_cp(const unsigned char *s, size_t n)
{
    struct cp r = {.c = s[0], .len = 1, .cls = CP_TEXT};
    /* bounds of the second byte: no overlong form, no surrogate, nothing above U+10FFFF */
    unsigned char lo = 0x80, hi = 0xbf;
    size_t want, i;
    if (s[0] < 0x80) {
        if (s[0] < 0x20 || s[0] == 0x7f)
            r.cls = CP_CONTROL;
        return r;
    }
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        want = 2;
        r.c = s[0] & 0x1fu;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        want = 3;
        r.c = s[0] & 0x0fu;
        lo = s[0] == 0xe0 ? 0xa0 : 0x80;
        hi = s[0] == 0xed ? 0x9f : 0xbf;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        want = 4;
        r.c = s[0] & 0x07u;
        lo = s[0] == 0xf0 ? 0x90 : 0x80;
        hi = s[0] == 0xf4 ? 0x8f : 0xbf;
    } else {
        r.cls = CP_BAD;
        return r;
    }
    for (i = 1; i < want; i++) {
        if (i >= n || s[i] < lo || s[i] > hi) {
            r.cls = CP_BAD;
            r.len = i;
            return r;
        }
        r.c = r.c << 6 | (s[i] & 0x3fu);
        lo = 0x80;
        hi = 0xbf;
    }
    r.len = want;
    if (is_hidden(r.c))
        r.cls = CP_HIDDEN;
    return r;
}

/* A form that is seen and cannot act: a control picture, or the number. No character of it is
 * special in any output. */
static void put_visible(struct mt_out *o, const struct cp *p)
{
    if (p->cls == CP_BAD) {
        mt_puts(o, BAD);
    } else if (p->cls == CP_CONTROL) {
        uint32_t c = p->c == 0x7f ? 0x21 : p->c;
        unsigned char picture[3] = {0xe2, 0x90, (unsigned char)(0x80 + c)};
        mt_put(o, picture, sizeof picture);
    } else {
        mt_putf(o, "U+%04X", (unsigned)p->c);
    }
}

size_t mt_utf8_cut(const char *s, size_t n, size_t max)
{
    size_t i = 0;
    if (n <= max)
        return n;
    while (i < n) {
        struct cp p = next_cp((const unsigned char *)s + i, n - i);
        if (i + p.len > max)
            break;
        i += p.len;
    }
    return i;
}

size_t mt_utf8_columns(const char *s, size_t n)
{
    size_t i = 0, columns = 0;
    while (i < n) {
        struct cp p = next_cp((const unsigned char *)s + i, n - i);
        columns += p.cls == CP_HIDDEN ? (p.c > 0xffff ? 7 : 6) : 1;
        i += p.len;
    }
    return columns;
}

size_t mt_utf8_line(const char *s, size_t room)
{
    size_t n = strlen(s), cut = n;
    if (mt_utf8_columns(s, n) <= room)
        return n;
    for (size_t i = 1; i < n && mt_utf8_columns(s, i) <= room; i++)
        if (s[i] == ' ')
            cut = i;
    return cut != n ? cut : strcspn(s, " ");
}

/* Copies s with everything hidden made visible and nothing else changed. */
void mt_seen(struct mt_out *o, const char *s, size_t n)
{
    size_t run = 0;
    for (size_t i = 0; i < n;) {
        struct cp p = next_cp((const unsigned char *)s + i, n - i);
        if (p.cls != CP_TEXT) {
            mt_put(o, s + run, i - run);
            put_visible(o, &p);
            run = i + p.len;
        }
        i += p.len;
    }
    mt_put(o, s + run, n - run);
}

#if defined(__SSE2__) && defined(__GNUC__)
enum { WIDE = sizeof(__m128i) };
/* Which of the next 16 bytes are not plain, a bit each. */
static inline unsigned not_plain(const unsigned char *p)
{
    __m128i x, found;
    memcpy(&x, p, sizeof x);
    found = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20)); /* and from 0x80 on: these are negative */
    found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f)));
    /* '<' and '>', '&' and '\'' differ in one bit */
    found =
        _mm_or_si128(found, _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(2)), _mm_set1_epi8('>')));
    found =
        _mm_or_si128(found, _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(1)), _mm_set1_epi8('\'')));
    return (unsigned)_mm_movemask_epi8(found);
}
#endif

/* Where text ends that every output here takes as it is: ASCII without control characters and
 * without those that mean something in JSON or HTML. */
static size_t skip_plain(const unsigned char *u, size_t i, size_t n)
{
    static const unsigned char special[128] = {
        ['"'] = 1, ['\\'] = 1, ['<'] = 1, ['>'] = 1, ['&'] = 1, ['\''] = 1, [0x7f] = 1};
#if defined(__SSE2__) && defined(__GNUC__)
    for (unsigned at; n - i >= WIDE; i += WIDE)
        if ((at = not_plain(u + i)) != 0)
            return i + (unsigned)__builtin_ctz(at);
    if (i < n && n >= WIDE) { /* the rest, by the last 16 bytes of all */
        unsigned at = not_plain(u + n - WIDE) >> (WIDE - (n - i));
        return at != 0 ? i + (unsigned)__builtin_ctz(at) : n;
    }
#endif
    while (i < n && u[i] >= 0x20 && u[i] < 0x80 && special[u[i]] == 0)
        i++;
    return i;
}

void mt_html(struct mt_out *o, const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t i = 0, run = 0; /* u[run..i) is waiting to be copied unchanged */
    while ((i = skip_plain(u, i, n)) < n) {
        struct cp p = next_cp(u + i, n - i);
        const char *e = NULL;
        if (p.cls == CP_TEXT) {
            switch (p.c) {
            case '&': e = "&amp;"; break;
            case '<': e = "&lt;"; break;
            case '>': e = "&gt;"; break;
            case '"': e = "&quot;"; break;
            case '\'': e = "&#39;"; break;
            default: break;
            }
        }
        if (p.cls != CP_TEXT || e != NULL) {
            mt_put(o, u + run, i - run);
            if (e != NULL)
                mt_puts(o, e);
            else
                put_visible(o, &p);
            run = i + p.len;
        }
        i += p.len;
    }
    mt_put(o, u + run, n - run);
}

void mt_html_s(struct mt_out *o, const char *s)
{
    if (s != NULL)
        mt_html(o, s, strlen(s));
}

static void json_u16(struct mt_out *o, uint32_t c)
{
    static const char digit[] = "0123456789abcdef";
    const char text[6] = {
        '\\', 'u', digit[c >> 12 & 15], digit[c >> 8 & 15], digit[c >> 4 & 15], digit[c & 15]};
    mt_put(o, text, sizeof text);
}

/* Faithful, unlike the others: what is hidden is written as \u escapes, so that a program gets the
 * very name back. '<' and '&' are escaped as well, so that no "</script>" and no comment can form.
 */
void mt_json_str(struct mt_out *o, const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t i = 0, run = 0;
    mt_putc(o, '"');
    while ((i = skip_plain(u, i, n)) < n) {
        struct cp p = next_cp(u + i, n - i);
        bool plain =
            p.cls == CP_TEXT && p.c != '"' && p.c != '\\' && p.c != '<' && p.c != '>' && p.c != '&';
        if (!plain) {
            mt_put(o, u + run, i - run);
            if (p.cls == CP_BAD) {
                mt_puts(o, BAD);
            } else if (p.c == '"' || p.c == '\\') {
                mt_putc(o, '\\');
                mt_putc(o, (char)p.c);
            } else if (p.c == '\n' || p.c == '\t') {
                mt_puts(o, p.c == '\n' ? "\\n" : "\\t");
            } else if (p.c > 0xffff) {
                json_u16(o, 0xd800 + ((p.c - 0x10000) >> 10));
                json_u16(o, 0xdc00 + ((p.c - 0x10000) & 0x3ff));
            } else {
                json_u16(o, p.c);
            }
            run = i + p.len;
        }
        i += p.len;
    }
    mt_put(o, u + run, n - run);
    mt_putc(o, '"');
}

static bool is_word(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

/* What Markdown needs before or instead of the character at u[i]; NULL = it is harmless there.
 * templates/js/markdown.js has the same rule for what the page copies, and
 * tests/golden/markdown.tsv holds both to it. */
static const char *md_escape(const unsigned char *u, size_t i, size_t n)
{
    int c = u[i], before = i > 0 ? u[i - 1] : 0, after = i + 1 < n ? u[i + 1] : 0;
    size_t k;
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\\': return "\\\\";
    case '`': return "\\`";
    case '*': return "\\*";
    case '[': return "\\[";
    case ']': return "\\]";
    case '|': return "\\|";
    case '~': return "\\~";
    /* mathematics on GitHub and GitLab */
    case '$': return "\\$";
    /* inside a word it is no markup */
    case '_': return is_word(before) && is_word(after) ? NULL : "\\_";
    /* no automatic link from http:// */
    case ':': return after == '/' ? "\\:" : NULL;
    /* nobody is to be notified by a function name */
    case '@': return is_word(after) ? "@&#8203;" : NULL;
    case '#': /* link to an issue; heading */
        if (is_digit(after))
            return "\\#&#8203;";
        return i == 0 ? "\\#" : NULL;
    case '-':
        if (i == 0)
            return "\\-";
        /* GH-123 is a link to an issue */
        return i >= 2 && (u[i - 1] | 32) == 'h' && (u[i - 2] | 32) == 'g' && is_digit(after)
                   ? "-&#8203;"
                   : NULL;
    case '+': return i == 0 ? "\\+" : NULL;
    case '=': return i == 0 ? "\\=" : NULL;
    case '.':
        if (i >= 3 && (u[i - 1] | 32) == 'w' && (u[i - 2] | 32) == 'w' && (u[i - 3] | 32) == 'w')
            return "\\."; /* no automatic link from www. */
        break;
    default: break;
    }
    if ((c == '.' || c == ')') && (after == 0 || after == ' ' ||
                                   after == '\t')) { /* "1. " and "1) " at the start make a list */
        for (k = 0; k < i && is_digit(u[k]); k++)
            ;
        if (i > 0 && k == i)
            return c == '.' ? "\\." : "\\)";
    }
    return NULL;
}

void mt_md(struct mt_out *o, const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t i = 0, run = 0;
    while (i < n) {
        struct cp p = next_cp(u + i, n - i);
        const char *e = p.cls == CP_TEXT && p.len == 1 ? md_escape(u, i, n) : NULL;
        if (p.cls != CP_TEXT || e != NULL) {
            mt_put(o, u + run, i - run);
            if (e != NULL)
                mt_puts(o, e);
            else
                put_visible(o, &p);
            run = i + p.len;
        }
        i += p.len;
    }
    mt_put(o, u + run, n - run);
}

void mt_md_code(struct mt_out *o, const char *s, size_t n)
{
    size_t i, run = 0, longest = 0;
    if (n == 0)
        return;
    if (memchr(s, '|', n) != NULL) {
        /* A bar inside `code` ends a table cell, and "\|" would show its backslash outside a table:
         * write the element itself. */
        mt_puts(o, "<code>");
        for (i = 0; i < n; i++) {
            if (s[i] == '|') {
                mt_md(o, s + run, i - run);
                mt_puts(o, "&#124;");
                run = i + 1;
            }
        }
        mt_md(o, s + run, n - run);
        mt_puts(o, "</code>");
        return;
    }
    for (i = 0; i < n; i++) {
        run = s[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (i = 0; i <= longest; i++)
        mt_putc(o, '`');
    if (longest > 0 || s[0] == ' ')
        mt_putc(o, ' ');
    mt_seen(o, s, n);
    if (longest > 0 || s[0] == ' ')
        mt_putc(o, ' ');
    for (i = 0; i <= longest; i++)
        mt_putc(o, '`');
}

void mt_term(struct mt_out *o, const char *s, size_t n) { mt_seen(o, s, n); }

const char *mt_last_parts(const char *path, unsigned n)
{
    const char *from = path + strlen(path);
    for (const char *s = from; s > path; s--)
        if (s[-1] == '/' && s[0] != '\0' && s[0] != '/' && n-- == 1)
            return s;
    return path;
}
