#include "parser/base/digits.h"

#include <string.h>

const char mt_base64_digits[65] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const char mt_base85_digits[86] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`{|}~";

enum { NO_DIGIT = 0x80 };

void mt_digits_begin(struct mt_digits *d, unsigned base)
{
    const char *digits = base == 64 ? mt_base64_digits : mt_base85_digits;
    memset(d->value, NO_DIGIT, sizeof d->value);
    for (unsigned i = 0; i < base; i++)
        d->value[(unsigned char)digits[i]] = (unsigned char)i;
    d->base = base;
    d->n = 0;
    d->acc = 0;
}

/* The first n of the bytes that a whole group is. */
static int bytes_of(struct mt_digits *d, unsigned char *out, int n)
{
    const int whole = d->base == 64 ? 3 : 4;
    const uint64_t v = d->acc;
    d->acc = 0;
    d->n = 0;
    if (v > UINT32_MAX)
        return -1;
    for (int i = 0; i < n; i++)
        out[i] = (unsigned char)(v >> 8 * (whole - 1 - i));
    return n;
}

int mt_digits_add(struct mt_digits *d, unsigned char c, unsigned char out[4])
{
    if (d->value[c] & NO_DIGIT)
        return -1;
    d->acc = d->acc * d->base + d->value[c];
    if (++d->n < (d->base == 64 ? 4u : 5u))
        return 0;
    return bytes_of(d, out, d->base == 64 ? 3 : 4);
}

/* What is missing of the last group is taken as the highest digit in base85, whose bytes are not
 * whole digits, and as the lowest in base64. */
int mt_digits_end(struct mt_digits *d, unsigned char out[4])
{
    const unsigned group = d->base == 64 ? 4 : 5, had = d->n;
    if (had == 0)
        return 0;
    for (unsigned i = had; i < group; i++)
        d->acc = d->acc * d->base + (d->base == 64 ? 0 : d->base - 1);
    if (had == 1) {
        d->acc = 0;
        d->n = 0;
        return -1;
    }
    return bytes_of(d, out, (int)had - 1);
}

size_t mt_digits_run(const struct mt_digits *d, const unsigned char **p, const unsigned char *end,
                     unsigned char *out, size_t n)
{
    const unsigned char *at = *p, *value = d->value;
    size_t got = 0;
    if (d->base != 64)
        return 0;
    for (; end - at >= 4 && n - got >= 3; at += 4, got += 3) {
        uint32_t a = value[at[0]], b = value[at[1]], c = value[at[2]], e = value[at[3]];
        if ((a | b | c | e) & NO_DIGIT)
            break;
        a = a << 18 | b << 12 | c << 6 | e;
        out[got] = (unsigned char)(a >> 16);
        out[got + 1] = (unsigned char)(a >> 8);
        out[got + 2] = (unsigned char)a;
    }
    *p = at;
    return got;
}
