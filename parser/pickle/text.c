/* Numbers and text of the pickle opcodes. Nothing here depends on the locale. */
#include "parser/base/num.h"
#include "parser/pickle/impl.h"

#include <math.h>

/* An integer of 64 bits of magnitude and a sign, in the narrowest mt_type that holds it. */
static struct mt_val int_val(bool negative, uint64_t mag)
{
    struct mt_val v = {.type = MT_T_INT, .i = 0};
    if (!negative && mag > INT64_MAX) {
        v.type = MT_T_UINT;
        v.u = mag;
    } else if (negative && mag > UINT64_C(1) << 63) {
        v.type = MT_T_BIG;
    } else {
        v.u = negative ? 0 - mag : mag;
    }
    return v;
}

struct mt_val mt_pk_int_text(const unsigned char *s, size_t n)
{
    struct mt_val bad = {.type = MT_T_ABSENT, .i = 0}, big = {.type = MT_T_BIG, .i = 0};
    uint64_t mag = 0;
    bool negative = false, over = false;
    size_t i = 0;
    if (n > 0 && s[n - 1] == '\r')
        n--;
    if (n > 0 && s[n - 1] == 'L')
        n--;
    if (n > 0 && (s[0] == '-' || s[0] == '+'))
        negative = s[i++] == '-';
    if (i == n)
        return bad;
    for (; i < n; i++) {
        unsigned d = (unsigned)s[i] - '0';
        if (d > 9)
            return bad;
        over =
            over || __builtin_mul_overflow(mag, 10u, &mag) || __builtin_add_overflow(mag, d, &mag);
    }
    return over ? big : int_val(negative, mag);
}

struct mt_val mt_pk_int_bytes(const unsigned char *s, size_t n)
{
    struct mt_val v = {.type = MT_T_INT, .i = 0};
    unsigned char sign = n > 0 && (s[n - 1] & 0x80) ? 0xff : 0;
    uint64_t x = sign ? UINT64_MAX : 0;
    while (n > 8 && s[n - 1] == sign && (sign == 0 || (s[n - 2] & 0x80)))
        n--; /* sign bytes that say nothing; a ninth byte of 0 is what makes 2^63..2^64-1 positive
              */
    if (n > 8) {
        v.type = MT_T_BIG;
        return v;
    }
    for (size_t i = n; i-- > 0;)
        x = x << 8 | s[i];
    if (sign == 0 && x > INT64_MAX)
        v.type = MT_T_UINT;
    v.u = x;
    return v;
}

static bool word(const unsigned char *s, size_t n, const char *w)
{
    size_t i = 0;
    while (i < n && w[i] != '\0' && (s[i] | 0x20) == (unsigned char)w[i])
        i++;
    return i == n && w[i] == '\0';
}

bool mt_pk_float_text(const unsigned char *s, size_t n, double *out)
{
    bool digits = false, point = false;
    size_t i = 0;
    if (n > 0 && s[n - 1] == '\r')
        n--;
    if (n > 0 && (s[0] == '-' || s[0] == '+'))
        i++;
    if (word(s + i, n - i, "nan") || word(s + i, n - i, "inf")) {
        double d = (s[i] | 0x20) == 'n' ? (double)NAN : (double)INFINITY;
        *out = s[0] == '-' ? -d : d;
        return true;
    }
    for (; i < n && (s[i] == '.' ? !point : s[i] >= '0' && s[i] <= '9'); i++) {
        point = point || s[i] == '.';
        digits = digits || s[i] != '.';
    }
    if (!digits)
        return false;
    if (i < n && (s[i] | 0x20) == 'e') {
        i++;
        if (i < n && (s[i] == '-' || s[i] == '+'))
            i++;
        if (i == n)
            return false;
        while (i < n && s[i] >= '0' && s[i] <= '9')
            i++;
    }
    if (i != n)
        return false;
    *out = mt_num_double(s, n);
    return true;
}

static size_t utf8(uint32_t c, unsigned char *out)
{
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (unsigned char)(0xc0 | c >> 6);
        out[1] = (unsigned char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xe0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 63));
        out[2] = (unsigned char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (unsigned char)(0xf0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 63));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 63));
    out[3] = (unsigned char)(0x80 | (c & 63));
    return 4;
}

static bool hex(const unsigned char *s, size_t n, uint32_t *c)
{
    *c = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char x = s[i], l = (unsigned char)(x | 0x20);
        if (x >= '0' && x <= '9')
            *c = *c << 4 | (uint32_t)(x - '0');
        else if (l >= 'a' && l <= 'f')
            *c = *c << 4 | (uint32_t)(l - 'a' + 10);
        else
            return false;
    }
    return true;
}

size_t mt_pk_raw_unicode(const unsigned char *s, size_t n, unsigned char *out)
{
    size_t o = 0;
    for (size_t i = 0; i < n;) {
        uint32_t c = s[i];
        size_t w = i + 1 < n && c == '\\' ? (s[i + 1] == 'u' ? 4u : s[i + 1] == 'U' ? 8u : 0u) : 0u;
        /* a byte stands for itself, as in Latin-1; a backslash shields the one behind it */
        if (w == 0) {
            o += utf8(c, out + o);
            i++;
            if (c == '\\' && i < n)
                o += utf8(s[i++], out + o);
            continue;
        }
        if (n - i - 2 < w || !hex(s + i + 2, w, &c) || c > 0x10ffff)
            return SIZE_MAX;
        o += utf8(c, out + o);
        i += 2 + w;
    }
    return o;
}
