#include "analysis/base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t mt_words_ratio(uint64_t part, uint64_t whole, uint64_t scale)
{
    uint64_t q = part / whole, rem = part % whole;
    if (scale == 0)
        return 0;
    while (whole > UINT64_MAX / 2 / scale) {
        whole >>= 1;
        rem >>= 1;
    }
    return q * scale + (rem * scale + whole / 2) / whole;
}

char *mt_words_device(char *buf, enum mt_device_kind kind, int32_t ordinal)
{
    if (kind == MT_DEV_CUDA)
        (void)snprintf(buf, 40, "device %d", (int)ordinal);
    else
        (void)snprintf(buf, 40, "%s", kind == MT_DEV_HOST ? "pinned host memory" : "host memory");
    return buf;
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
        v = mt_words_ratio(bytes, UINT64_C(1) << (10 * (u + 1)), tens[u]);
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

char *mt_words_count(char *buf, uint64_t n)
{
    char rev[32];
    unsigned len = 0, i, digits = 0;
    do {
        if (digits != 0 && digits % 3 == 0)
            rev[len++] = ',';
        rev[len++] = (char)('0' + n % 10);
        n /= 10;
        digits++;
    } while (n != 0);
    for (i = 0; i < len; i++)
        buf[i] = rev[len - 1 - i];
    buf[len] = '\0';
    return buf;
}

char *mt_words_percent(char *buf, uint64_t part, uint64_t whole)
{
    uint64_t v;
    if (whole == 0) {
        (void)snprintf(buf, 32, "-");
        return buf;
    }
    if (part > whole && part / whole > UINT64_MAX / 2000) {
        (void)snprintf(buf, 32, "> 999 %%");
        return buf;
    }
    v = mt_words_ratio(part, whole, 1000);
    if (v == 0 && part != 0)
        (void)snprintf(buf, 32, "< 0.1 %%");
    else if (v == 1000 && part < whole)
        (void)snprintf(buf, 32, "99.9 %%"); /* 100 % is said only of all */
    else
        (void)snprintf(buf, 32, "%llu.%u %%", (unsigned long long)(v / 10), (unsigned)(v % 10));
    return buf;
}

const char *mt_words_label(char *buf, const char *label)
{
    size_t n = strlen(label);
    if (n < MT_LABEL)
        return label;
    memcpy(buf, label, MT_LABEL - 4);
    memcpy(buf + MT_LABEL - 4, "...", 4);
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
