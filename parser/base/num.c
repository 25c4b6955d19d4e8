#include "parser/base/num.h"

#include <stdbool.h>
#include <stdint.h>

double mt_num_double(const unsigned char *s, size_t n)
{
    const unsigned char *end = s + n;
    bool neg = false, point = false;
    uint64_t m = 0;
    long e = 0, x = 0;
    double d;
    if (s < end && (*s == '-' || *s == '+'))
        neg = *s++ == '-';
    for (; s < end && (*s == '.' || *s - (unsigned)'0' < 10); s++) {
        if (*s == '.') {
            point = true;
        } else if (m < UINT64_C(1000000000000000000)) {
            m = m * 10 + (*s - (unsigned)'0');
            e -= point;
        } else {
            e += !point; /* digits beyond the 19th are below the precision of a double */
        }
    }
    if (s < end && (*s | 32) == 'e') {
        bool minus = ++s < end && *s == '-';
        if (s < end && (*s == '-' || *s == '+'))
            s++;
        for (; s < end; s++)
            x = x < 100000 ? x * 10 + (long)(*s - (unsigned)'0') : x;
        e += minus ? -x : x;
    }
    if (m == 0 || e < -400) {
        d = 0;
    } else if (e > 400) {
        d = (double)__builtin_inf();
    } else {
        /* Exact for digits up to 2^53 and exponents up to 22; one rounding of a wider type up to
         * exponent 27. Every number that json.dump writes for a setting is in that range. Beyond it
         * the last bit may be wrong. */
        long double r = (long double)m, ten = 10, scale = 1;
        unsigned long k = (unsigned long)(e < 0 ? -e : e);
        if (m < UINT64_C(1) << 53 && k <= 22) {
            double exact = 1;
            for (; k > 0; k--)
                exact *= 10;
            d = e < 0 ? (double)m / exact : (double)m * exact;
        } else {
            for (; k > 0; k >>= 1, ten *= ten)
                if (k & 1)
                    scale *= ten;
            d = (double)(e < 0 ? r / scale : r * scale);
        }
    }
    return neg ? -d : d;
}
