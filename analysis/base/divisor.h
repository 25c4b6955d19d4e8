/* base/divisor.h -- what counts of things that come in layers have in common. */
#ifndef MT_DIVISOR_H
#define MT_DIVISOR_H

#include <stdint.h>

/* The greatest common divisor; of 0 and n it is n. */
static inline uint32_t mt_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
