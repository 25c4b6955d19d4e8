#include "render/svg/two.h"

#include "render/base/escape.h"
#include "render/svg/legend.h"
#include "render/svg/scale.h"
#include "render/view/palette.h"

#include <inttypes.h>

enum { LEFT = 58, TOP = 44, WIDTH = 1106, HEIGHT = 260, WHOLE_WIDTH = 1180, BELOW = 72, NAME = 60 };

/* The first is an area, the second a line: told from each other without colours too. */
static const char *const strokes[] = {"#7b8694", "#2f7fd1"};

struct plot {
    const struct mt_two *t;
    struct mt_scale y;
    uint64_t span;
};

static uint32_t x_of(const struct plot *p, uint64_t v, uint64_t span)
{
    return LEFT + mt_scale_px(v, p->t->by_share ? span : p->span, WIDTH);
}
static uint32_t y_of(const struct plot *p, uint64_t bytes)
{
    return TOP + HEIGHT - mt_scale_px(bytes, p->y.top, HEIGHT);
}
static uint32_t column_x(const struct plot *p, const struct mt_two_curve *k, uint32_t i)
{
    uint32_t end = x_of(p, k->span, k->span);
    return LEFT + (uint32_t)((uint64_t)(end - LEFT) * i / k->n);
}

static void put_grid(struct mt_out *o, const struct plot *p)
{
    uint64_t whole = p->t->by_share ? 100 : p->span;
    struct mt_scale x =
        p->t->by_time && !p->t->by_share ? mt_scale_time(whole, 8) : mt_scale_events(whole, 10);
    char label[32];
    mt_puts(o, "<g stroke=\"currentColor\" stroke-opacity=\".16\">");
    for (uint64_t v = 0; v <= p->y.top && v / p->y.step < 12; v += p->y.step)
        mt_putf(o, "<path d=\"M%d %" PRIu32 "h%d\"/>", LEFT, y_of(p, v), WIDTH);
    mt_puts(o, "</g>\n<g text-anchor=\"end\">");
    for (uint64_t v = 0; v <= p->y.top && v / p->y.step < 12; v += p->y.step)
        mt_putf(o, "<text x=\"%d\" y=\"%" PRIu32 "\">%s</text>", LEFT - 8, y_of(p, v) + 4,
                mt_scale_label(&p->y, v, label));
    mt_putf(o, "<text x=\"%d\" y=\"%d\" opacity=\".75\">%s</text></g>\n<g text-anchor=\"middle\">",
            LEFT - 8, TOP - 10, p->y.name);
    for (uint64_t v = 0; v <= whole && v / x.step < 16; v += x.step)
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%d\">%s</text>",
                LEFT + mt_scale_px(v, whole, WIDTH), TOP + HEIGHT + 18,
                mt_scale_label(&x, v, label));
    mt_putf(o, "<text x=\"%d\" y=\"%d\" opacity=\".75\">", LEFT + WIDTH / 2, TOP + HEIGHT + 36);
    if (p->t->by_share)
        mt_puts(o, "% of each run, from its beginning to its end: one is far longer");
    else if (p->t->by_time)
        mt_putf(o, "%s after the first event of each run", x.name);
    else
        mt_putf(o, "events since %s", p->t->x_from);
    mt_puts(o, "</text></g>\n");
}

static void put_curve(struct mt_out *o, const struct plot *p, unsigned side)
{
    const struct mt_two_curve *k = &p->t->run[side];
    uint32_t at = 0, base = TOP + HEIGHT;
    if (k->n == 0)
        return;
    mt_putf(
        o,
        "<path stroke=\"%s\" stroke-width=\"%s\" fill=\"%s\" fill-opacity=\".35\" d=\"M%d %" PRIu32,
        strokes[side], side == 0 ? "1" : "2", side == 0 ? strokes[0] : "none", LEFT,
        y_of(p, k->live[0]));
    for (uint32_t i = 1; i <= k->n; i++) {
        uint32_t y = i < k->n ? y_of(p, k->live[i]) : 0;
        if (i < k->n && y == y_of(p, k->live[at]))
            continue;
        mt_putf(o, "H%" PRIu32, column_x(p, k, i));
        if (i < k->n)
            mt_putf(o, "V%" PRIu32, y);
        at = i;
    }
    if (side == 0)
        mt_putf(o, "V%" PRIu32 "H%dz", base, LEFT);
    mt_puts(o, "\"/>\n");
}

/* What is to be seen apart: of the second an area, of the first its upper edge, dashed. */
static void put_part(struct mt_out *o, const struct plot *p, unsigned side)
{
    const struct mt_two_curve *k = &p->t->run[side];
    if (k->n == 0 || k->part == NULL)
        return;
    mt_putf(
        o,
        side == 0
            ? "<path stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"6 4\" fill=\"none\" d=\""
            : "<path fill=\"%s\" fill-opacity=\".7\" d=\"",
        side == 0 ? "currentColor" : mt_color_hex(mt_two_part_color));
    mt_putf(o, "M%d %" PRIu32, LEFT, y_of(p, k->part[0]));
    for (uint32_t i = 1; i < k->n; i++)
        if (k->part[i] != k->part[i - 1])
            mt_putf(o, "H%" PRIu32 "V%" PRIu32, column_x(p, k, i), y_of(p, k->part[i]));
    mt_putf(o, "H%" PRIu32, column_x(p, k, k->n));
    if (side == 1)
        mt_putf(o, "V%dH%dz", TOP + HEIGHT, LEFT);
    mt_puts(o, "\"/>\n");
}

static void put_oom(struct mt_out *o, const struct plot *p, unsigned side)
{
    const struct mt_two_curve *k = &p->t->run[side];
    uint32_t x;
    if (!k->has_oom || k->n == 0)
        return;
    x = x_of(p, k->oom, k->span);
    mt_putf(o, "<path stroke=\"%s\" stroke-width=\"2\" d=\"M%" PRIu32 " %dV%d\"/>", mt_color_oom, x,
            TOP, TOP + HEIGHT);
    mt_putf(o,
            "<text x=\"%" PRIu32
            "\" y=\"%d\" fill=\"%s\" font-weight=\"600\"%s>OOM of the %s</text>\n",
            x > LEFT + WIDTH - 140 ? x - 6 : x + 6, side == 0 ? TOP - 6 : TOP - 22, mt_color_oom,
            x > LEFT + WIDTH - 140 ? " text-anchor=\"end\"" : "", p->t->which[side]);
}

static void put_legend(struct mt_out *o, const struct mt_two *t)
{
    char size[32];
    for (unsigned side = 0; side < 2; side++) {
        int x = LEFT + (int)side * (WIDTH / 2), y = TOP + HEIGHT + 62;
        if (side == 0)
            mt_putf(
                o, "<path fill=\"%s\" fill-opacity=\".35\" stroke=\"%s\" d=\"M%d %dh24v12h-24z\"/>",
                strokes[0], strokes[0], x, y - 10);
        else
            mt_putf(o, "<path stroke=\"%s\" stroke-width=\"2\" d=\"M%d %dh24\"/>", strokes[1], x,
                    y - 4);
        mt_putf(o, "<text x=\"%d\" y=\"%d\">%s: ", x + 32, y, t->which[side]);
        mt_svg_text(o, t->run[side].name, NAME);
        if (t->run[side].n != 0)
            mt_putf(o, ", peak %s", mt_fmt_bytes(size, t->run[side].peak));
        else
            mt_puts(o, ", no curve");
        mt_puts(o, "</text>\n");
    }
}

void mt_svg_two(struct mt_out *o, const struct mt_two *t)
{
    struct plot p = {.t = t};
    char size[2][32];
    uint64_t most = t->run[0].peak > t->run[1].peak ? t->run[0].peak : t->run[1].peak;
    bool card = t->capacity != 0 && most != 0 && t->capacity / most < 3;
    if (t->run[0].n == 0 && t->run[1].n == 0)
        return;
    p.y = mt_scale_bytes(card && t->capacity > most ? t->capacity : most, 6);
    p.span = t->run[0].span > t->run[1].span ? t->run[0].span : t->run[1].span;
    mt_putf(o,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\" aria-labelledby=\"two\" font-family=\"system-ui, "
            "sans-serif\" font-size=\"12\" fill=\"currentColor\" class=\"plot\">\n"
            "<title id=\"two\">%s on one axis: %s peaks at %s, %s at %s</title>\n",
            WHOLE_WIDTH, TOP + HEIGHT + BELOW, WHOLE_WIDTH, TOP + HEIGHT + BELOW, t->what,
            t->which[0], mt_fmt_bytes(size[0], t->run[0].peak), t->which[1],
            mt_fmt_bytes(size[1], t->run[1].peak));
    put_grid(o, &p);
    put_curve(o, &p, 0);
    put_part(o, &p, 1);
    put_part(o, &p, 0);
    put_curve(o, &p, 1);
    if (card)
        mt_putf(o,
                "<path stroke=\"currentColor\" stroke-width=\"2\" d=\"M%d %" PRIu32
                "h%d\"/><text x=\"%d\" y=\"%" PRIu32 "\">capacity %s</text>\n",
                LEFT, y_of(&p, t->capacity), WIDTH, LEFT + 6, y_of(&p, t->capacity) + 14,
                mt_fmt_bytes(size[0], t->capacity));
    put_oom(o, &p, 0);
    put_oom(o, &p, 1);
    put_legend(o, t);
    mt_puts(o, "</svg>\n");
}
