/* svg/scale.h -- axes: round steps for bytes, time and event numbers, in integers only. */
#ifndef MT_SVG_SCALE_H
#define MT_SVG_SCALE_H

#include <stdint.h>

struct mt_scale {
    uint64_t top;     /* highest value shown, a multiple of step */
    uint64_t step;    /* > 0 */
    uint64_t unit;    /* what labels are divided by */
    const char *name; /* "GiB", "s", "" */
    unsigned decimals;
};

struct mt_scale mt_scale_bytes(uint64_t max, unsigned ticks);
struct mt_scale mt_scale_time(uint64_t max_ns, unsigned ticks);
struct mt_scale mt_scale_events(uint64_t max, unsigned ticks);
/* "2.5" for a multiple of the step; buf of 32. */
char *mt_scale_label(const struct mt_scale *s, uint64_t value, char *buf);
/* value of 0..whole to 0..pixels, rounded down, without overflow; whole 0 gives 0. */
uint32_t mt_scale_px(uint64_t value, uint64_t whole, uint32_t pixels);
/* pick: which of some states each of n columns shows, high: the height of each state. What column
 * `at` shows is shown by `wide` columns where those beside it are lower: a moment that matters is
 * not to be looked for. at >= n: nothing happens. */
void mt_scale_widen(uint32_t *pick, uint32_t n, uint32_t at, uint32_t wide, const uint64_t *high);

#endif
