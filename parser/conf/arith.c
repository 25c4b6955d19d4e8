/* conf/arith.c -- arithmetic of a shell: scripts write lengths as $((1024 * 4)) and budgets as
 * $((max_prompt_length + max_response_length)). */
#include "parser/conf/impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 16
#define LARGEST (INT64_C(1) << 53)

struct sum {
    const char *p, *end;
    const char *(*value_of)(const void *arg, const char *name, size_t n);
    const void *arg;
    int depth;
};

static bool sum(struct sum *s, int64_t *out);

static char look(struct sum *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) != NULL)
        s->p++;
    return s->p < s->end ? *s->p : '\0';
}

static bool in_range(int64_t v) { return v <= LARGEST && v >= -LARGEST; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* A number with a leading 0 is octal to a shell: no script means that. */
static bool digits(const char *from, const char *end, int64_t *out)
{
    int64_t v = 0;
    if (from == end || (*from == '0' && end - from > 1))
        return false;
    for (; from < end; from++) {
        if (!is_digit(*from))
            return false;
        v = v * 10 + (*from - '0');
        if (!in_range(v))
            return false;
    }
    *out = v;
    return true;
}

static bool atom(struct sum *s, int64_t *out)
{
    char c = look(s);
    const char *from, *value;
    if (++s->depth > DEEPEST)
        return false;
    if (c == '(' || c == '-' || c == '+') {
        s->p++;
        if (!(c == '(' ? sum(s, out) : atom(s, out)))
            return false;
        if (c == '(' && look(s) != ')')
            return false;
        s->p += c == '(';
        *out = c == '-' ? -*out : *out;
        s->depth--;
        return true;
    }
    s->depth--;
    bool braced = c == '$' && s->end - s->p > 1 && s->p[1] == '{';
    s->p += (c == '$') + braced;
    from = s->p;
    while (s->p < s->end && is_name(*s->p))
        s->p++;
    if (from == s->p || (braced && (s->p == s->end || *s->p != '}')))
        return false;
    if (c != '$' && is_digit(*from))
        return digits(from, s->p, out);
    value = s->value_of(s->arg, from, (size_t)(s->p - from));
    s->p += braced;
    return value != NULL && digits(value, value + strlen(value), out);
}

static bool product(struct sum *s, int64_t *out)
{
    bool ok = atom(s, out);
    for (char c; ok && ((c = look(s)) == '*' || c == '/' || c == '%');) {
        int64_t v;
        s->p++;
        ok = atom(s, &v) && (c == '*' || v != 0);
        if (!ok)
            return false;
        if (c == '*' && v != 0 && llabs(*out) > LARGEST / llabs(v))
            return false;
        *out = c == '*' ? *out * v : c == '/' ? *out / v : *out % v;
    }
    return ok;
}

static bool sum(struct sum *s, int64_t *out)
{
    bool ok = product(s, out);
    for (char c; ok && ((c = look(s)) == '+' || c == '-');) {
        int64_t v;
        s->p++;
        ok = product(s, &v);
        if (ok)
            *out = c == '+' ? *out + v : *out - v;
        ok = ok && in_range(*out);
    }
    return ok;
}

bool mt_conf_arith(const char *s, size_t n,
                   const char *(*value_of)(const void *arg, const char *name, size_t n),
                   const void *arg, char out[MT_CONF_ARITH_MAX])
{
    struct sum all = {s, s + n, value_of, arg, 0};
    int64_t v;
    if (!sum(&all, &v) || look(&all) != '\0' || all.p != all.end)
        return false;
    snprintf(out, MT_CONF_ARITH_MAX, "%lld", (long long)v);
    return true;
}
