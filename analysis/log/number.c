/* log/number.c -- a number in a person's words. */
#include "analysis/log/diagnose.h"

double mt_logdiag_number_at(const char *p, const char **end)
{
    double n = 0, place = 1;
    for (; mt_log_is_digit(*p) || (*p == '.' && place >= 1 && mt_log_is_digit(p[1])); p++) {
        if (*p == '.')
            place = 0.1;
        else if (place >= 1)
            n = n * 10 + (*p - '0');
        else
            n += (*p - '0') * place, place /= 10;
    }
    *end = p;
    return n;
}
