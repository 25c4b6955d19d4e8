/* num.c -- numbers from the command line, without the locale. */
#include "cli/options.h"
#include "parser/base/text.h"

#include <string.h>

static const struct {
    const char *suffix;
    uint64_t unit;
} byte_units[] = {
    {"", 1},
    {"b", 1},
    {"k", UINT64_C(1) << 10},
    {"kib", UINT64_C(1) << 10},
    {"kb", 1000},
    {"m", UINT64_C(1) << 20},
    {"mib", UINT64_C(1) << 20},
    {"mb", 1000000},
    {"g", UINT64_C(1) << 30},
    {"gib", UINT64_C(1) << 30},
    {"gb", 1000000000},
    {"t", UINT64_C(1) << 40},
    {"tib", UINT64_C(1) << 40},
    {"tb", UINT64_C(1000000000000)},
};
static const struct {
    const char *suffix;
    uint64_t unit;
} count_units[] = {{"", 1}, {"k", 1000}, {"m", 1000000}, {"g", 1000000000}};

/* "12.5" up to the first other character: whole and fraction in units of 10^-n_digits. */
static const char *number(const char *s, uint64_t *whole, uint64_t *fraction, uint64_t *scale)
{
    const char *start = s;
    *whole = *fraction = 0;
    *scale = 1;
    for (; *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(*whole, 10u, whole) ||
            __builtin_add_overflow(*whole, (uint64_t)(*s - '0'), whole))
            return NULL;
    if (s == start)
        return NULL;
    if (*s == '.') {
        const char *point = s++;
        for (; *s >= '0' && *s <= '9'; s++)
            if (*scale < 1000000) { /* more digits than that change nothing that matters */
                *scale *= 10;
                *fraction = *fraction * 10 + (uint64_t)(*s - '0');
            }
        if (s == point + 1)
            return NULL;
    }
    while (*s == ' ')
        s++;
    return s;
}

static int scale_number(uint64_t whole, uint64_t fraction, uint64_t scale, uint64_t unit,
                        uint64_t *out)
{
    uint64_t part;
    if (fraction != 0 && unit == 1)
        return 0; /* a fraction of a byte is no size */
    part = unit / scale * fraction + unit % scale * fraction / scale;
    return !__builtin_mul_overflow(whole, unit, out) && !__builtin_add_overflow(*out, part, out);
}

int mt_parse_bytes(const char *s, uint64_t *out)
{
    uint64_t whole, fraction, scale;
    const char *suffix = number(s, &whole, &fraction, &scale);
    if (suffix == NULL)
        return 0;
    for (size_t i = 0; i < sizeof byte_units / sizeof *byte_units; i++)
        if (mt_same_word(suffix, byte_units[i].suffix))
            return scale_number(whole, fraction, scale, byte_units[i].unit, out);
    return 0;
}

int mt_parse_count(const char *s, uint64_t *out)
{
    uint64_t whole, fraction, scale;
    const char *suffix = number(s, &whole, &fraction, &scale);
    if (suffix == NULL)
        return 0;
    for (size_t i = 0; i < sizeof count_units / sizeof *count_units; i++)
        if (mt_same_word(suffix, count_units[i].suffix))
            return scale_number(whole, fraction, scale, count_units[i].unit, out);
    return 0;
}

int mt_parse_share(const char *s, uint64_t *out)
{
    uint64_t whole, fraction, scale;
    const char *suffix = number(s, &whole, &fraction, &scale);
    if (suffix == NULL || strcmp(suffix, "%") != 0 || whole > 100)
        return 0;
    *out = whole * 10 + fraction * 10 / scale;
    if (*out == 0 && fraction != 0) /* "0.04%" is not "0%", which means nothing at all */
        *out = 1;
    return *out <= 1000;
}
