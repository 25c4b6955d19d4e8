#include "render/svg/asked.h"
#include "render/base/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDE = 10, OVER = 5 /* how far the end of the device reaches beside it */, CHAR_WIDTH = 7 };

static uint32_t y_of(const struct mt_plot *p, uint64_t bytes)
{
    return mt_plot_y(p, bytes < p->y.top ? bytes : p->y.top);
}

uint32_t mt_svg_asked_y(const struct mt_plot *p, const struct mt_oom *oom)
{
    struct mt_asked a;
    return mt_asked_of(&a, p->d, oom) ? y_of(p, mt_asked_top(&a)) : p->top + p->height;
}

struct box {
    uint32_t x, y, w, h;
};

/* Free but held is pale as in the map of segments, what others hold is lined, and the request is
 * hatched, so that colour is not the only sign. No pattern: that would be a reference, and a page
 * has none. */
static void pale(struct mt_out *o, struct box b)
{
    if (b.h != 0)
        mt_putf(o,
                "<path fill-opacity=\".22\" d=\"M%" PRIu32 " %" PRIu32 "h%" PRIu32 "v%" PRIu32
                "h-%" PRIu32 "z\"/>",
                b.x, b.y, b.w, b.h, b.w);
}

static void lined(struct mt_out *o, struct box b)
{
    if (b.h != 0)
        mt_putf(o,
                "<path class=\"lined\" stroke=\"currentColor\" stroke-opacity=\".5\" "
                "stroke-width=\"%" PRIu32 "\" stroke-dasharray=\"1 3\" d=\"M%" PRIu32 " %" PRIu32
                "v-%" PRIu32 "\"/>",
                b.w, b.x + b.w / 2, b.y + b.h, b.h);
}

static void hatched(struct mt_out *o, struct box b)
{
    if (b.h == 0)
        return;
    mt_putf(o,
            "<path class=\"asked\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" "
            "shape-rendering=\"auto\" d=\"M%" PRIu32 " %" PRIu32 "h%" PRIu32 "v%" PRIu32
            "h-%" PRIu32 "z",
            mt_color_oom, b.x, b.y, b.w, b.h, b.w);
    /* from the left or the lower edge to the upper or the right one */
    for (uint32_t d = 5; d < b.w + b.h; d += 5) {
        uint32_t from = d < b.h ? 0 : d - b.h, to = d < b.w ? d : b.w;
        mt_putf(o, "M%" PRIu32 " %" PRIu32 "l%" PRIu32 "-%" PRIu32, b.x + from, b.y + d - from,
                to - from, to - from);
    }
    mt_puts(o, "\"/>");
}

/* From one height down to another. */
static struct box between(uint32_t x, uint32_t from, uint32_t to)
{
    return (struct box){x, from, WIDE, to > from ? to - from : 0};
}

/* Whether the picture reaches to where the device ends: it need not, where a request failed with
 * much free. */
static bool has_end(const struct mt_plot *p, const struct mt_asked *a)
{
    return mt_asked_end(a) <= p->y.top;
}

static void put(struct mt_out *o, const struct mt_plot *p, uint32_t x, const struct mt_asked *a)
{
    uint32_t base = y_of(p, mt_asked_base(a)), reserved = y_of(p, mt_asked_reserved(a)),
             most = p->left + p->width - WIDE;
    x = x < p->left + WIDE / 2 ? p->left : x - WIDE / 2 > most ? most : x - WIDE / 2;
    pale(o, between(x, reserved, y_of(p, a->live)));
    lined(o, between(x, base, reserved));
    hatched(o, between(x, y_of(p, mt_asked_top(a)), base));
    if (has_end(p, a))
        mt_putf(o,
                "<path stroke=\"currentColor\" stroke-width=\"2\" d=\"M%" PRIu32 " %" PRIu32
                "h%d\"/>",
                x - OVER, y_of(p, mt_asked_end(a)), WIDE + 2 * OVER);
    mt_puts(o, "\n");
}

bool mt_svg_asked_hides(uint32_t x, uint32_t last)
{
    return (x > last ? x - last : last - x) < WIDE;
}

void mt_svg_asked(struct mt_out *o, const struct mt_plot *p)
{
    uint32_t last = 0, n = 0;
    for (uint32_t i = 0; i < p->d->ooms.n && n < MT_SVG_MAX_OOMS; i++) {
        const struct mt_oom *oom = &p->d->ooms.p[i];
        uint32_t x = mt_plot_x(p, (int64_t)oom->event, oom->time_ns);
        struct mt_asked a;
        if ((n > 0 && mt_svg_asked_hides(x, last)) || !mt_asked_of(&a, p->d, oom))
            continue;
        n++;
        put(o, p, x, &a);
        last = x;
    }
}

bool mt_svg_asked_has_key(const struct mt_svg *s)
{
    struct mt_asked a;
    return !s->small && s->dev->ooms.n != 0 && mt_asked_of(&a, s->dev, &s->dev->ooms.p[0]);
}

/* A swatch with its words; returns where the next begins. */
static uint32_t entry(struct mt_out *o, uint32_t x, uint32_t y,
                      void (*look)(struct mt_out *, struct box), const char *words, uint64_t bytes)
{
    char text[80], size[32];
    (void)snprintf(text, sizeof text, "%s %s", words, mt_fmt_bytes(size, bytes));
    if (look != NULL) {
        look(o, (struct box){x, y - 10, 18, 12});
        x += 24;
    }
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s</text>", x, y, text);
    return x + (uint32_t)strlen(text) * CHAR_WIDTH + 16;
}

void mt_svg_asked_key(struct mt_out *o, const struct mt_plot *p, uint32_t y)
{
    const char *when =
        p->d->ooms.n > 1 && MT_FIRST_COUNTS(p->d) ? "At the first OOM:" : "At the OOM:";
    struct mt_asked a;
    uint32_t x = p->left + (uint32_t)strlen(when) * CHAR_WIDTH + 18;
    if (!mt_svg_asked_has_key(p->s) || !mt_asked_of(&a, p->d, &p->d->ooms.p[0]))
        return;
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" font-weight=\"600\">%s</text>", p->left,
            y, when);
    x = entry(o, x, y, hatched, a.cut ? "asked for, cut at the top:" : "asked for", a.request);
    x = entry(o, x, y, pale, "reserved but free", a.held);
    if (a.foreign != 0)
        x = entry(o, x, y, a.stacked ? lined : NULL,
                  a.stacked ? "outside PyTorch" : "not drawn: outside PyTorch", a.foreign);
    if (!has_end(p, &a)) {
        mt_puts(o, "\n");
        return;
    }
    mt_putf(o,
            "<path stroke=\"currentColor\" stroke-width=\"2\" d=\"M%" PRIu32 " %" PRIu32
            "h18\"/><text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">end of the device</text>\n",
            x, y - 4, x + 24, y);
}
