/* log/match.c -- numbers, sizes and holes in lines of text. */
#include "parser/log/match.h"

#include <string.h>

#define MAX_TEXT 95

/* "58.15", "1,933,682", "-0.94" as a number times 10^6. Negative ones are kept as 0: a budget below
 * nothing. */
static const char *number(const char *p, uint64_t *micro)
{
    bool minus = *p == '-';
    uint64_t whole = 0, part = 0, scale = 1000000;
    p += minus;
    if (!mt_log_is_digit(*p))
        return NULL;
    for (; mt_log_is_digit(*p) || (*p == ',' && mt_log_is_digit(p[1])); p++)
        if (*p != ',') {
            if (whole > UINT64_C(1000000000000000))
                return NULL;
            whole = whole * 10 + (uint64_t)(*p - '0');
        }
    if (*p == '.' && mt_log_is_digit(p[1]))
        for (p++; mt_log_is_digit(*p); p++)
            if (scale > 1) {
                scale /= 10;
                part += (uint64_t)(*p - '0') * scale;
            }
    if (whole > UINT64_MAX / 1000000 - 1)
        return NULL;
    *micro = minus ? 0 : whole * 1000000 + part;
    return p;
}

static uint64_t scaled(uint64_t micro, uint64_t unit)
{
    uint64_t whole = micro / 1000000, rest = micro % 1000000;
    if (unit != 0 && whole > UINT64_MAX / unit - 1)
        return MT_LOG_NONE;
    return whole * unit + (rest * (unit / 64) / 1000000) * 64 + rest * (unit % 64) / 1000000;
}

/* A size with its unit, or the letter of it. The tools that print "GB" here divide by 2^30. */
static const char *size(const char *p, bool letter, uint64_t *out)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"TB", 40},
                 {"GB", 30},  {"MB", 20},  {"KB", 10},  {"kB", 10},  {"bytes", 0},
                 {"T", 40},   {"G", 30},   {"M", 20},   {"K", 10},   {"B", 0}};
    size_t from = letter ? sizeof units / sizeof *units - 5 : 0,
           to = letter ? sizeof units / sizeof *units : sizeof units / sizeof *units - 5;
    uint64_t micro;
    p = number(p, &micro);
    if (p == NULL)
        return NULL;
    while (*p == ' ')
        p++;
    for (size_t i = from; i < to; i++) {
        size_t n = strlen(units[i].name);
        if (strncmp(p, units[i].name, n) == 0) {
            *out = scaled(micro, UINT64_C(1) << units[i].shift);
            return p + n;
        }
    }
    return NULL;
}

static const char *match_at(const char *p, const char *pat, struct mt_log_got *g)
{
    g->n = 0;
    g->text = NULL;
    for (; *pat != '\0'; pat++) {
        uint64_t v = 0;
        if (*pat == ' ') {
            if (*p != ' ' && (pat[1] != '%' || pat[2] == '%'))
                return NULL;
            while (*p == ' ')
                p++;
            continue;
        }
        if (*pat != '%') {
            if (*p++ != *pat)
                return NULL;
            continue;
        }
        pat++;
        if (*pat == '%') {
            if (*p++ != '%')
                return NULL;
            continue;
        }
        if (*pat == 't') {
            const char *e = pat[1] != '\0' ? memchr(p, pat[1], strnlen(p, MAX_TEXT + 1)) : NULL;
            if (e == NULL)
                return NULL;
            g->text = p;
            g->n_text = (size_t)(e - p);
            p = e;
            continue;
        }
        p = *pat == 'b' || *pat == 's' ? size(p, *pat == 's', &v) : number(p, &v);
        if (p == NULL || g->n == MT_LOG_VALUES)
            return NULL;
        if (*pat == 'G')
            v = scaled(v, UINT64_C(1) << 30);
        else if (*pat == 'n')
            v /= 1000000;
        else if (*pat == 'r')
            v /= 100;
        g->v[g->n++] = v;
    }
    return p;
}

const char *mt_log_find(const char *s, const char *pattern, struct mt_log_got *g)
{
    size_t fixed = strcspn(pattern, " %");
    for (const char *p = s; (p = strchr(p, pattern[0])) != NULL; p++) {
        if ((fixed < 2 || p[1] == pattern[1]) && strncmp(p, pattern, fixed) == 0) {
            const char *e = match_at(p, pattern, g);
            if (e != NULL)
                return e;
        }
    }
    return NULL;
}

uint64_t mt_log_value(const char *s, const char *pattern)
{
    struct mt_log_got g;
    return mt_log_find(s, pattern, &g) != NULL && g.n > 0 ? g.v[0] : MT_LOG_NONE;
}

uint64_t mt_log_value_at(const char *p, const char *pattern)
{
    struct mt_log_got g;
    return match_at(p, pattern, &g) != NULL && g.n > 0 ? g.v[0] : MT_LOG_NONE;
}

const char *mt_log_json_value(const char *p, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(p, key, n) != 0 || p[n] != '"')
        return NULL;
    p += n + 1;
    p += strspn(p, " ");
    if (*p++ != ':')
        return NULL;
    return p + strspn(p, " ");
}
