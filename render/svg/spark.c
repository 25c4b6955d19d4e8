#include "render/svg/spark.h"

#include "render/base/escape.h"
#include "render/svg/scale.h"

#include <inttypes.h>

enum { WIDTH = 120, HEIGHT = 20, BARS = 60, WIDEST = 8 };

void mt_svg_spark(struct mt_out *o, const uint64_t *v, unsigned n, uint64_t most, const char *color,
                  const char *label)
{
    unsigned bars = n < BARS ? n : BARS, wide;
    if (n == 0)
        return;
    wide = WIDTH / bars < WIDEST ? WIDTH / bars : WIDEST;
    mt_putf(o, "<svg class=\"spark\" width=\"%u\" height=\"%d\" role=\"img\" aria-label=\"",
            bars * wide, HEIGHT);
    mt_html_s(o, label);
    mt_putf(o, "\"><path fill=\"%s\" d=\"", color);
    for (unsigned b = 0; b < bars; b++) {
        unsigned from = (unsigned)((uint64_t)b * n / bars),
                 to = (unsigned)((uint64_t)(b + 1) * n / bars);
        uint64_t high = 0;
        uint32_t px;
        for (unsigned i = from; i < to; i++)
            high = v[i] > high ? v[i] : high;
        px = mt_scale_px(high, most, HEIGHT);
        if (px == 0 && high != 0)
            px = 1;
        if (px != 0)
            mt_putf(o, "M%u %dv-%" PRIu32 "h%uv%" PRIu32 "z", b * wide, HEIGHT, px,
                    wide > 2 ? wide - 1 : wide, px);
    }
    mt_puts(o, "\"/></svg>");
}
