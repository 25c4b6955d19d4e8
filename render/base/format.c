/* The numbers of render/base/escape.h, in integer arithmetic: printf's %f would follow the locale.
 */
#include "analysis/base/words.h"
#include "render/base/escape.h"

#include <stdio.h>

enum { FMT = 32, FMT_UTC = 40 };

char *mt_fmt_seconds(char *buf, uint64_t ns)
{
    uint64_t ms = ns / 1000000 + (ns % 1000000 >= 500000), s = ns / 1000000000;
    if (ns == 0) {
        (void)snprintf(buf, FMT, "0 s");
    } else if (ns < 1000) {
        (void)snprintf(buf, FMT, "%u ns", (unsigned)ns);
    } else if (ns < 1000000) {
        uint64_t v = mt_words_ratio(ns, 1000, 10);
        (void)snprintf(buf, FMT, "%u.%u \xc2\xb5s", (unsigned)(v / 10), (unsigned)(v % 10));
    } else if (ns < 1000000000) {
        uint64_t v = mt_words_ratio(ns, 1000000, 10);
        (void)snprintf(buf, FMT, "%u.%u ms", (unsigned)(v / 10), (unsigned)(v % 10));
    } else if (s < 600) {
        (void)snprintf(buf, FMT, "%u.%03u s", (unsigned)(ms / 1000), (unsigned)(ms % 1000));
    } else if (s < 3600) {
        (void)snprintf(buf, FMT, "%u min %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
    } else {
        (void)snprintf(buf, FMT, "%llu h %02u min %02u s", (unsigned long long)(s / 3600),
                       (unsigned)(s / 60 % 60), (unsigned)(s % 60));
    }
    return buf;
}

char *mt_fmt_utc(char *buf, uint64_t ns)
{
    uint64_t ms = ns / 1000000, s = ms / 1000;
    /* Days to a date in the proleptic Gregorian calendar, counted from 0000-03-01 so that the leap
     * day comes last. */
    uint64_t z = s / 86400 + 719468, era = z / 146097, doe = z % 146097;
    uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    uint64_t day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
    uint64_t year = yoe + era * 400 + (month <= 2);
    (void)snprintf(buf, FMT_UTC, "%04u-%02u-%02u %02u:%02u:%02u.%03u UTC", (unsigned)(year % 10000),
                   (unsigned)(month % 100), (unsigned)(day % 100), (unsigned)(s / 3600 % 24),
                   (unsigned)(s / 60 % 60), (unsigned)(s % 60), (unsigned)(ms % 1000));
    return buf;
}
