#include "render/svg/scale.h"
#include "render/base/escape.h"

#include <stdbool.h>
#include <stdio.h>

struct fraction {
    unsigned num, den, decimals;
};

/* The smallest step of unit * (one of small[], then 1, 2, 5, 10, 20, 50 ...) of which `ticks` reach
 * max. */
static struct mt_scale pick(uint64_t max, unsigned ticks, uint64_t unit, const char *name,
                            const struct fraction *small, unsigned n_small)
{
    struct mt_scale s = {.unit = unit, .name = name};
    uint64_t power = 1;
    unsigned i = 0;
    for (;; i++) {
        if (i < n_small) {
            s.step = unit / small[i].den * small[i].num;
            s.decimals = small[i].decimals;
        } else {
            static const unsigned char digit[] = {1, 2, 5};
            unsigned k = (i - n_small) % 3;
            if (i > n_small && k == 0)
                power *= 10;
            s.step = unit * power * digit[k];
            s.decimals = 0;
            if (power > UINT64_MAX / 100 / unit)
                break; /* as coarse as 64 bits allow */
        }
        if (max / s.step + (max % s.step != 0) <= ticks)
            break;
    }
    s.top = (max / s.step + (max % s.step != 0)) * s.step;
    if (s.top < s.step)
        s.top = s.step; /* max was 0, or the multiple does not fit */
    return s;
}

struct mt_scale mt_scale_bytes(uint64_t max, unsigned ticks)
{
    static const struct fraction small[] = {{1, 4, 2}, {1, 2, 1}};
    static const char *const name[] = {"B", "KiB", "MiB", "GiB"};
    unsigned u = 0;
    while (u < 3 && max >> (10 * (u + 1)) != 0)
        u++;
    return pick(max, ticks, UINT64_C(1) << (10 * u), name[u], small, u == 0 ? 0 : 2);
}

struct mt_scale mt_scale_time(uint64_t max_ns, unsigned ticks)
{
    static const struct fraction small[] = {{1, 10, 1}, {1, 5, 1}, {1, 2, 1}};
    if (max_ns >= UINT64_C(600000000000))
        return pick(max_ns, ticks, UINT64_C(60000000000), "minutes", small + 2, 1);
    if (max_ns >= 1000000000)
        return pick(max_ns, ticks, 1000000000, "seconds", small, 3);
    if (max_ns >= 1000000)
        return pick(max_ns, ticks, 1000000, "milliseconds", small, 3);
    return pick(max_ns, ticks, 1000, "microseconds", small, 3);
}

struct mt_scale mt_scale_events(uint64_t max, unsigned ticks)
{
    return pick(max, ticks, 1, "events", NULL, 0);
}

char *mt_scale_label(const struct mt_scale *s, uint64_t value, char *buf)
{
    char whole[32];
    uint64_t rest = value % s->unit;
    mt_fmt_count(whole, value / s->unit);
    if (s->decimals == 0)
        (void)snprintf(buf, 32, "%s", whole);
    else if (s->decimals ==
             1) /* rounded, because a tenth of a binary unit is no whole number of bytes */
        (void)snprintf(buf, 32, "%.27s.%u", whole, (unsigned)((rest * 10 + s->unit / 2) / s->unit));
    else
        (void)snprintf(buf, 32, "%.27s.%02u", whole,
                       (unsigned)((rest * 100 + s->unit / 2) / s->unit));
    return buf;
}

uint32_t mt_scale_px(uint64_t value, uint64_t whole, uint32_t pixels)
{
    while (whole > UINT64_MAX / (pixels + 1u)) {
        whole >>= 1;
        value >>= 1;
    }
    if (whole == 0)
        return 0;
    return value >= whole ? pixels : (uint32_t)(value * pixels / whole);
}

void mt_scale_widen(uint32_t *pick, uint32_t n, uint32_t at, uint32_t wide, const uint64_t *high)
{
    uint32_t from = at, end = at + 1, before = 0, after = 0;
    if (at >= n)
        return;
    for (; from > 0 && pick[from - 1] == pick[at]; from--)
        ;
    for (; end < n && pick[end] == pick[at]; end++)
        ;
    for (bool grown = true; grown && end - from + before + after < wide;) {
        grown = false;
        if (end + after < n && high[pick[end + after]] < high[pick[at]]) {
            after++;
            grown = true;
        }
        if (from > before && end - from + before + after < wide &&
            high[pick[from - before - 1]] < high[pick[at]]) {
            before++;
            grown = true;
        }
    }
    for (uint32_t i = from - before; i < end + after; i++)
        pick[i] = pick[at];
}
