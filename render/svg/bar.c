/* The picture of a device without a curve: one bar of its reserved memory. */
#include "render/base/escape.h"
#include "render/svg/legend.h"
#include "render/svg/scale.h"
#include "render/svg/timeline.h"
#include "render/view/view.h"

#include <inttypes.h>

enum { WIDTH = 1180, BAR_TOP = 26, BAR_HEIGHT = 44 };

void mt_svg_composition(struct mt_out *o, const struct mt_svg *s)
{
    const struct mt_device_analysis *d = s->dev;
    struct mt_legend l;
    char a[32], b[32];
    uint64_t whole = d->focus.reserved > d->focus.live ? d->focus.reserved : d->focus.live, sum = 0;
    uint32_t x = 0;
    mt_legend_build(&l, d, NULL, 0);
    mt_svg_open(o, s, WIDTH, BAR_TOP + BAR_HEIGHT + 22 + mt_legend_height(&l));
    mt_putf(o, "<title id=\"tl%u\">Memory of ", s->id);
    mt_html_s(o, s->what);
    mt_putf(o, " %s</title>\n<desc id=\"tl%ud\">%s live of %s reserved.</desc>\n",
            mt_focus_words(d), s->id, mt_fmt_bytes(a, d->focus.live),
            mt_fmt_bytes(b, d->focus.reserved));
    mt_putf(o, "<text x=\"0\" y=\"14\" font-weight=\"600\">Reserved %s: %s</text>\n",
            mt_focus_words(d), mt_fmt_bytes(a, d->focus.reserved));
    mt_putf(o, "<text x=\"%d\" y=\"14\" text-anchor=\"end\">not in use: %s</text>\n", WIDTH,
            mt_fmt_bytes(a, whole - d->focus.live));
    for (unsigned i = 0; i < l.n; i++) {
        uint32_t end;
        sum += l.entry[i].bytes;
        end = mt_scale_px(sum, whole, WIDTH);
        if (end > x)
            mt_putf(o,
                    "<rect x=\"%" PRIu32 "\" y=\"%d\" width=\"%" PRIu32
                    "\" height=\"%d\" fill=\"%s\"/>\n",
                    x, BAR_TOP, end - x, BAR_HEIGHT, mt_color_hex(mt_role_color(l.entry[i].role)));
        x = end;
    }
    mt_putf(o,
            "<rect x=\".5\" y=\"%d.5\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"currentColor\"/>\n",
            BAR_TOP, WIDTH - 1, BAR_HEIGHT - 1);
    mt_legend_draw(o, &l, 0, BAR_TOP + BAR_HEIGHT + 20);
    mt_puts(o, "</svg>\n");
}
