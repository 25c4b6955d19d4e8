/* log/json.c -- undoes the escapes of loggers that write JSON: {"msg":"Traceback ...\n  File
 * \"a.py\", line 3, in f\n..."} is one line. A collector of such lines may write a prefix before
 * the object, or put the object into a string of its own JSON. */
#include "parser/log/match.h"

#include <string.h>

/* objects in strings of objects: the program's, the collector's, the cluster's */
enum { MAX_DEPTH = 3 };

/* Of \uXXXX: the character; 0 where it is none by itself. */
static unsigned character(const char *p, size_t n)
{
    unsigned v = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = i < n ? p[i] : ' ';
        if (c >= '0' && c <= '9')
            v = v * 16 + (unsigned)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            v = v * 16 + (unsigned)((c | 0x20) - 'a') + 10;
        else
            return 0;
    }
    return v >= 0xd800 && v < 0xe000 ? 0 : v;
}

/* In UTF-8, at most three bytes. */
static size_t put(char *out, unsigned v)
{
    size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : 3;
    if (n == 1)
        out[0] = (char)v;
    else if (n == 2)
        out[0] = (char)(0xc0 | v >> 6);
    else
        out[0] = (char)(0xe0 | v >> 12);
    if (n == 3)
        out[1] = (char)(0x80 | (v >> 6 & 0x3f));
    if (n != 1)
        out[n - 1] = (char)(0x80 | (v & 0x3f));
    return n;
}

/* One escape of a string, from s[*i] == '\\' on, to out; its bytes there. *i is then at its last
 * byte. */
static size_t escape(char *out, const char *s, size_t n, size_t *i)
{
    /* a carriage return ends a line in every log */
    static const char from[] = "nrtbf", to[] = "\n\n   ";
    char c = s[++*i];
    const char *at = strchr(from, c);
    unsigned v;
    if (c != '\0' && at != NULL) {
        *out = to[at - from];
    } else if (c == 'u' && (v = character(s + *i + 1, n - *i - 1)) != 0) {
        *i += 4;
        return put(out, v); /* shorter than what was read */
    } else {
        *out = c; /* \" \\ \/ */
    }
    return 1;
}

/* In a string, an object of its own begins: {\"level\":... */
static bool is_inner(const char *p, size_t n)
{
    return n > 3 && p[0] == '{' && p[1] == '\\' && p[2] == '"';
}

static bool has_inner(const char *s, size_t n)
{
    const char *p = s;
    while ((p = memchr(p, '{', n - (size_t)(p - s))) != NULL) {
        if (is_inner(p, n - (size_t)(p - s)))
            return true;
        p++;
    }
    return false;
}

/* The same without objects in strings: nearly always. */
static size_t undo_plain(char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const char *next = memchr(s + i, '\\', n - i);
        size_t run = next != NULL ? (size_t)(next - s) - i : n - i;
        memmove(s + k, s + i, run);
        k += run;
        i += run;
        if (i + 1 < n)
            k += escape(s + k, s, n, &i);
        else if (i < n)
            s[k++] = s[i];
    }
    return k;
}

/* Undoes what stands in s[0, n), in place: an object, or text out of one. */
static size_t undo(char *s, size_t n, int depth)
{
    size_t k = 0, inner = SIZE_MAX;
    if (depth == 0 || !has_inner(s, n))
        return undo_plain(s, n);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 1 < n) {
            k += escape(s + k, s, n, &i);
            continue;
        }
        if (inner == SIZE_MAX && is_inner(s + i, n - i))
            inner = k;
        s[k++] = s[i];
        /* its end: what it held is plain now, but for its own strings */
        if (s[i] == '"' && inner != SIZE_MAX) {
            k = inner + undo(s + inner, k - 1 - inner, depth - 1);
            s[k++] = '"';
            inner = SIZE_MAX;
        }
    }
    /* a line that was cut */
    return inner != SIZE_MAX ? inner + undo(s + inner, k - inner, depth - 1) : k;
}

/* Where an object of a logger begins, behind whatever stands before it: {"msg": or { "msg":.
 * SIZE_MAX = nowhere. */
static size_t object(const char *s, size_t n)
{
    const char *p = s;
    while ((p = memchr(p, '{', n - (size_t)(p - s))) != NULL) {
        const char *end = s + n, *q = p + 1;
        while (q < end && *q == ' ')
            q++;
        if (q < end && *q == '"' && (p == s || strchr(" \t=:|>", p[-1]) != NULL))
            return (size_t)(p - s);
        p++;
    }
    return SIZE_MAX;
}

/* Where a traceback on one line begins whose newlines are escaped, as repr() prints it: "...call
 * last):\n  File ". */
static size_t traceback(const char *s, size_t n)
{
    static const char head[] = "call last):\\n";
    const size_t k = sizeof head - 1;
    const char *p = s;
    while ((p = memchr(p, 'c', n - (size_t)(p - s))) != NULL) {
        if ((size_t)(s + n - p) > k && memcmp(p, head, k) == 0)
            return (size_t)(p - s);
        p++;
    }
    return SIZE_MAX;
}

size_t mt_log_unescape(char *s, size_t n, size_t *before)
{
    size_t from;
    *before = 0;
    if (n == 0 || memchr(s, '\\', n) == NULL)
        return n;
    from = s[0] == '{' ? 0 : object(s, n);
    if (from == SIZE_MAX)
        from = traceback(s, n);
    if (from == SIZE_MAX || memchr(s + from, '\\', n - from) == NULL)
        return n;
    *before = from;
    n = from + undo(s + from, n - from, MAX_DEPTH);
    from = traceback(s, n); /* in a string of the object */
    return from == SIZE_MAX ? n : from + undo(s + from, n - from, 0);
}
