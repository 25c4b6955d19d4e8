#include "analysis/base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* part / whole * scale, rounded half up, without overflow for whole <= 2^60 and scale <= 1000. */
static uint64_t ratio(uint64_t part, uint64_t whole, uint64_t scale)
{
    uint64_t q = part / whole, rem = part % whole;
    while (whole > UINT64_MAX / 2 / scale) {
        whole >>= 1;
        rem >>= 1;
    }
    return q * scale + (rem * scale + whole / 2) / whole;
}

char *mt_words_bytes(char *buf, uint64_t bytes)
{
    static const char unit[][4] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const unsigned tens[] = {10, 10, 100, 100, 100, 100};
    unsigned u = 0;
    uint64_t v;
    if (bytes < 1024) {
        (void)snprintf(buf, 32, "%u B", (unsigned)bytes);
        return buf;
    }
    for (;;) { /* integers only: printf's %f would follow the locale */
        v = ratio(bytes, UINT64_C(1) << (10 * (u + 1)), tens[u]);
        if (v < UINT64_C(1024) * tens[u] || u == 5)
            break;
        u++; /* also when rounding reaches 1024: "1.00 GiB", not "1024.0 MiB" */
    }
    if (tens[u] == 10)
        (void)snprintf(buf, 32, "%u.%u %s", (unsigned)(v / 10), (unsigned)(v % 10), unit[u]);
    else
        (void)snprintf(buf, 32, "%u.%02u %s", (unsigned)(v / 100), (unsigned)(v % 100), unit[u]);
    return buf;
}

struct mt_phase_in_words mt_phase_in_words(unsigned phase, unsigned sub, bool in_sentence)
{
    struct mt_phase_in_words w = {""};
    bool around = phase != MT_PH_UNATTRIBUTED;
    bool inside = sub != MT_PH_NONE && sub != phase;
    const char *outer = mt_phase_words((enum mt_phase)phase);
    const char *inner = mt_phase_words((enum mt_phase)sub);
    if (around && inside)
        (void)snprintf(w.s, sizeof w.s, "%s (%s)", outer, inner);
    else if (!around && !inside && in_sentence)
        (void)snprintf(w.s, sizeof w.s, "a phase that could not be told");
    else
        (void)snprintf(w.s, sizeof w.s, "%s", inside ? inner : outer);
    return w;
}

void mt_words_add(struct mt_sentence *s, const char *fmt, ...)
{
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(s->buf + s->n, sizeof s->buf - s->n, fmt, ap);
    va_end(ap);
    if (n > 0)
        s->n = s->n + (size_t)n < sizeof s->buf ? s->n + (size_t)n : sizeof s->buf - 1;
}

struct mt_in_words mt_in_words(uint64_t bytes)
{
    struct mt_in_words w = {""};
    (void)mt_words_bytes(w.s, bytes);
    return w;
}
