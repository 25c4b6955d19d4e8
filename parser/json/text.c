#include "parser/json/text.h"
#include "parser/base/num.h"

#include "parser/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mt_json_init(struct mt_json *j, struct mt_source *src, const struct mt_limits *lim)
{
    memset(j, 0, sizeof *j);
    j->src = src;
    j->p = src->cur;
    j->end = src->end;
    j->lim = lim;
    j->simd = mt_json_simd();
}

void mt_json_done(struct mt_json *j)
{
    j->src->cur = j->p;
    mt_free(j->scratch);
    j->scratch = NULL;
}

int mt_json_more(struct mt_json *j, size_t n)
{
    size_t have;
    j->src->cur = j->p;
    have = mt_source_need(j->src, n);
    j->p = j->src->cur;
    j->end = j->src->end;
    return have >= n;
}

int mt_json_stop(struct mt_json *j, enum mt_rc rc, const char *fmt, ...)
{
    char buf[MT_ERR_MSG];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(buf, sizeof buf, fmt, ap) < 0)
        buf[0] = '\0';
    va_end(ap);
    j->fail = MT_JF_STOP;
    mt_fail_at(&j->why, rc, mt_json_offset(j), "%s", buf);
    return 0;
}

static int ended(struct mt_json *j)
{
    if (j->src->status == MT_ENOMEM)
        return mt_json_stop(j, MT_ENOMEM, "%s", j->src->err.msg);
    j->fail = MT_JF_END;
    mt_fail_at(&j->why, MT_EINPUT, mt_json_offset(j), "the text ends");
    return 0;
}

int mt_json_expected(struct mt_json *j, const char *what)
{
    char found[24];
    size_t n = 0;
    if (j->p == j->end && !mt_json_more(j, 1))
        return ended(j);
    while (n < 12 && j->p + n < j->end)
        n++;
    j->fail = MT_JF_BAD;
    mt_fail_at(&j->why, MT_EINPUT, mt_json_offset(j), "expected %s, found \"%s\"", what,
               mt_printable(found, sizeof found, j->p, n));
    return 0;
}

static inline int is_space(unsigned c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

int mt_json_space_slow(struct mt_json *j)
{
    for (;;) {
        while (j->p < j->end && is_space(*j->p))
            j->p++;
        if (j->p < j->end)
            return *j->p;
        if (!mt_json_more(j, 1))
            return -1;
    }
}

/* ---- strings ---- */

static int hex4(const unsigned char *s, size_t n, unsigned *out)
{
    unsigned v = 0;
    if (n < 4)
        return 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = s[i], d = c - '0' < 10         ? c - '0'
                               : (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10
                                                    : 16;
        if (d > 15)
            return 0;
        v = v << 4 | d;
    }
    *out = v;
    return 1;
}

static unsigned char *put_utf8(unsigned char *o, unsigned c)
{
    if (c < 0x80) {
        *o++ = (unsigned char)c;
        return o;
    }
    if (c < 0x800) {
        *o++ = (unsigned char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) { /* a lone surrogate too, as Python's "surrogatepass" writes it */
            *o++ = (unsigned char)(0xe0 | c >> 12);
        } else {
            *o++ = (unsigned char)(0xf0 | c >> 18);
            *o++ = (unsigned char)(0x80 | (c >> 12 & 0x3f));
        }
        *o++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    }
    *o++ = (unsigned char)(0x80 | (c & 0x3f));
    return o;
}

/* Decodes the body s[0..n) of a string into scratch, which is as long: no escape is shorter than
 * what it stands for. */
static int unescape(struct mt_json *j, const unsigned char *s, size_t n, size_t *len)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const unsigned char *body = s, *end = s + n;
    unsigned char *o;
    if (n > j->cap_scratch) {
        unsigned char *fresh = mt_realloc(j->scratch, n + n / 2);
        if (fresh == NULL)
            return mt_json_stop(j, MT_ENOMEM, "out of memory for a string of %zu bytes", n);
        j->scratch = fresh;
        j->cap_scratch = n + n / 2;
    }
    o = j->scratch;
    while (s < end) {
        const unsigned char *e = mt_json_quote(s, end);
        const char *at;
        unsigned c, low;
        memcpy(o, s, (size_t)(e - s));
        o += e - s;
        s = e;
        if (s == end)
            break;
        if (end - s < 2)
            goto bad;
        if (s[1] == 'u') {
            if (!hex4(s + 2, (size_t)(end - s - 2), &c))
                goto bad;
            s += 6;
            if (c - 0xd800 < 0x400 && end - s >= 6 && s[0] == '\\' && s[1] == 'u' &&
                hex4(s + 2, 4, &low) && low - 0xdc00 < 0x400) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                s += 6;
            }
            o = put_utf8(o, c);
        } else if (s[1] != 0 && (at = strchr(from, s[1])) != NULL) {
            *o++ = (unsigned char)to[at - from];
            s += 2;
        } else {
            goto bad;
        }
    }
    *len = (size_t)(o - j->scratch);
    return 1;
bad:
    j->p += (s - body) + 1;
    return mt_json_expected(j, "an escape such as \\n or \\u0041");
}

int mt_json_string(struct mt_json *j, const unsigned char **s, size_t *n)
{
    size_t at = 1; /* from the opening quote */
    bool escapes = false;
    for (;;) {
        size_t have = (size_t)(j->end - j->p);
        if (at < have) {
            const unsigned char *e = mt_json_quote(j->p + at, j->end);
            at = (size_t)(e - j->p);
            if (e < j->end && *e == '"')
                break;
            if (e < j->end) {
                escapes = true;
                at += 2;
                continue;
            }
        }
        if (at - 1 > j->lim->max_string)
            goto too_long;
        if (!mt_json_more(j, at + 1)) {
            j->p = j->end;
            return ended(j);
        }
    }
    if (at - 1 > j->lim->max_string)
        goto too_long;
    *s = j->p + 1;
    *n = at - 1;
    if (escapes) {
        if (!unescape(j, *s, *n, n))
            return 0;
        *s = j->scratch;
    }
    j->p += at + 1;
    return 1;
too_long:
    return mt_json_stop(j, MT_ELIMIT, "a string is longer than %llu bytes (raise --max-string)",
                        (unsigned long long)j->lim->max_string);
}

/* ---- numbers ---- */

static int integer(const unsigned char *s, size_t n, struct mt_val *v)
{
    bool neg = *s == '-', big = false;
    uint64_t u = 0;
    for (size_t i = neg; i < n; i++) {
        uint64_t d = s[i] - (uint64_t)'0';
        big =
            __builtin_mul_overflow(u, UINT64_C(10), &u) || __builtin_add_overflow(u, d, &u) || big;
    }
    if (big || (neg && u > UINT64_C(1) << 63)) {
        v->type = MT_T_BIG;
        v->u = 0;
    } else {
        v->type = !neg && u > INT64_MAX ? MT_T_UINT : MT_T_INT;
        v->u = neg ? 0 - u : u;
    }
    return 1;
}

static size_t digits(const unsigned char *s, size_t i, size_t n)
{
    while (i < n && s[i] - (unsigned)'0' < 10)
        i++;
    return i;
}

static int bad_number(struct mt_json *j, size_t n)
{
    if (n != (size_t)(j->end - j->p))
        return mt_json_expected(j, "a number");
    j->p = j->end; /* the stream ends inside the number */
    return ended(j);
}

static int number(struct mt_json *j, struct mt_val *v)
{
    const unsigned char *s;
    size_t n = 0, i, k;
    for (;;) { /* the whole token into the window */
        size_t have = (size_t)(j->end - j->p);
        while (n < have && (j->p[n] - (unsigned)'0' < 10 || j->p[n] == '-' || j->p[n] == '+' ||
                            j->p[n] == '.' || (j->p[n] | 32) == 'e'))
            n++;
        if (n > j->lim->max_string)
            return mt_json_stop(j, MT_ELIMIT,
                                "a number has more than %llu digits (raise --max-string)",
                                (unsigned long long)j->lim->max_string);
        if (n < have || !mt_json_more(j, n + 1))
            break;
    }
    s = j->p;
    i = n > 0 && s[0] == '-';
    k = digits(s, i, n);
    if (k == i)
        return n > i ? bad_number(j, n) : mt_json_expected(j, "a value");
    if (k == n) {
        j->p += n;
        return integer(s, n, v);
    }
    if (s[k] == '.') {
        i = k + 1;
        k = digits(s, i, n);
        if (k == i)
            return bad_number(j, n);
    }
    if (k < n && (s[k] | 32) == 'e') {
        i = k + 1;
        if (i < n && (s[i] == '-' || s[i] == '+'))
            i++;
        k = digits(s, i, n);
        if (k == i)
            return bad_number(j, n);
    }
    if (k != n)
        return bad_number(j, n);
    v->type = MT_T_FLOAT;
    v->d = mt_num_double(s, n);
    j->p += n;
    return 1;
}

int mt_json_scalar(struct mt_json *j, struct mt_val *v)
{
    static const struct {
        const char *text;
        size_t n;
        enum mt_type type;
        int i;
    } words[] = {
        {"true", 4, MT_T_BOOL, 1}, {"false", 5, MT_T_BOOL, 0},     {"null", 4, MT_T_NONE, 0},
        {"NaN", 3, MT_T_FLOAT, 0}, {"Infinity", 8, MT_T_FLOAT, 1}, {"-Infinity", 9, MT_T_FLOAT, -1},
    };
    unsigned c;
    if (j->end - j->p < 16)
        mt_json_more(j, 16);
    if (j->p == j->end)
        return ended(j);
    c = *j->p;
    if (c - '0' < 10 && j->end - j->p > 24) {
        const unsigned char *p = j->p;
        uint64_t u = 0;
        for (; *p - (unsigned)'0' < 10 && p < j->p + 19; p++)
            u = u * 10 + (*p - (unsigned)'0');
        if (*p - (unsigned)'0' >= 10 && *p != '.' && (*p | 32) != 'e') {
            v->type = u > INT64_MAX ? MT_T_UINT : MT_T_INT;
            v->u = u;
            j->p = p;
            return 1;
        }
    }
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        size_t have = (size_t)(j->end - j->p);
        if ((unsigned char)words[i].text[0] != c || (i == 5 && have > 1 && j->p[1] != 'I'))
            continue;
        if (memcmp(j->p, words[i].text, have < words[i].n ? have : words[i].n) != 0)
            break;
        if (have < words[i].n) {
            j->p = j->end;
            return ended(j);
        }
        j->p += words[i].n;
        v->type = words[i].type;
        v->i = words[i].i;
        if (v->type == MT_T_FLOAT)
            v->d =
                words[i].i == 0 ? (double)__builtin_nan("") : words[i].i * (double)__builtin_inf();
        return 1;
    }
    return number(j, v);
}

/* ---- passing over ---- */

static int skip_string(struct mt_json *j)
{
    bool escaped = false;
    j->p++;
    for (;;) {
        if (escaped && j->p < j->end) {
            j->p++;
            escaped = false;
        }
        if (!escaped) {
            j->p = mt_json_quote(j->p, j->end);
            if (j->p < j->end) {
                escaped = *j->p == '\\';
                j->p++;
                if (!escaped)
                    return 1;
                continue;
            }
        }
        if (!mt_json_more(j, 1))
            return ended(j);
    }
}

int mt_json_skip(struct mt_json *j, uint32_t depth)
{
    struct mt_json_scan st = {0, 0, 1, 0, false};
    struct mt_val v;
    int c = mt_json_space(j);
    if (c == '"')
        return skip_string(j);
    if (c != '{' && c != '[')
        return c < 0 ? ended(j) : mt_json_scalar(j, &v);
    st.max_depth = j->lim->max_depth > depth ? j->lim->max_depth - depth : 1;
    j->p++;
    for (;;) {
        const unsigned char *e = j->simd->any_end(&st, j->p, j->end);
        if (st.too_deep)
            return mt_json_stop(j, MT_ELIMIT,
                                "lists and objects are nested deeper than %u (raise --max-depth)",
                                (unsigned)j->lim->max_depth);
        if (e != NULL) {
            j->p = e - 1;
            if (*j->p != c + 2) /* '[' ']' and '{' '}' are two apart */
                return mt_json_expected(j, c == '{' ? "'}'" : "']'");
            j->p = e;
            return 1;
        }
        j->p = j->end;
        if (!mt_json_more(j, 1))
            return ended(j);
    }
}
