/* log_json.c -- what a logger that writes JSON made of text: {"msg":"Traceback ...\n  File \"a.py\", line 3, in f\n..."} is one line. */
#include "parser/log_match.h"

#include <string.h>

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

size_t mt_log_unescape(char *s, size_t n)
{
    static const char from[] = "nrtbf", to[] = "\n\n   "; /* a carriage return ends a line in every log */
    size_t k = 0;
    if (n == 0 || s[0] != '{' || memchr(s, '\\', n) == NULL)
        return n;
    for (size_t i = 0; i < n; i++) {
        const char *at;
        unsigned v;
        char c;
        if (s[i] != '\\' || i + 1 == n) {
            s[k++] = s[i];
            continue;
        }
        c = s[++i];
        at = strchr(from, c);
        if (c != '\0' && at != NULL) {
            s[k++] = to[at - from];
        } else if (c == 'u' && (v = character(s + i + 1, n - i - 1)) != 0) {
            k += put(s + k, v); /* shorter than what was read */
            i += 4;
        } else {
            s[k++] = c; /* \" \\ \/ */
        }
    }
    return k;
}
