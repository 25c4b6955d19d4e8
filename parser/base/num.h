/* num.h -- numbers as text, whatever the locale. */
#ifndef MT_NUM_H
#define MT_NUM_H

#include <stddef.h>

/* The decimal number [s, s + n) as the nearest double (beyond 27 decimal places of exponent perhaps
 * off by the last bit). The caller has checked the syntax: digits, at most one point, an exponent;
 * a sign may lead. */
double mt_num_double(const unsigned char *s, size_t n);

#endif
