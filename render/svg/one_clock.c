#include "render/svg/one_clock.h"

#include "render/base/escape.h"
#include "render/svg/ledger.h"
#include "render/svg/legend.h"
#include "render/svg/scale.h"
#include "render/view/one_clock.h"
#include "render/view/palette.h"

#include <errno.h>
#include <inttypes.h>

/* WIDTH is that of svg/ledger.c, below which they lie; the style sheet has its left, too. */
enum { WIDTH = 1106, HEIGHT = 32 };

#define LINE "<path vector-effect=\"non-scaling-stroke\" fill=\"none\" "

/* What the curves are drawn in: from left to right moments, so that the page's script can enlarge a
 * part of them; the picture is as wide as its SVG makes it. */
struct plane {
    const struct mt_clocked_list *l;
    uint64_t t0, t1, unit; /* unit: ns; whole ones take fewer digits */
};

static uint64_t x_of(const struct plane *p, uint64_t t)
{
    uint64_t at = t < p->t0 ? p->t0 : t > p->t1 ? p->t1 + 1 : t;
    return (at - p->t0) / p->unit;
}

/* Stretches that are known: filled to the base line, or open. Steps are from the one before. */
static void curve(struct mt_out *o, const struct plane *p, const uint64_t *v, uint64_t top,
                  bool filled)
{
    bool open = false;
    uint32_t last = 0;
    uint64_t pen = 0;
    for (uint32_t i = 0; i <= p->l->n_at; i++) {
        bool known = i < p->l->n_at && v[i] != MT_CLOCKED_UNKNOWN;
        uint32_t y = known ? HEIGHT - mt_scale_px(v[i], top, HEIGHT) : HEIGHT;
        uint64_t x = x_of(p, i < p->l->n_at ? p->l->at[i] : UINT64_MAX);
        if (open && (!known || y != last)) {
            mt_putf(o, "h%" PRIu64, x - pen);
            pen = x;
        }
        if (open && !known && filled)
            mt_putf(o, "V%dz", HEIGHT);
        if (known && !open) {
            mt_putf(o, "M%" PRIu64 " %" PRIu32, x, filled ? HEIGHT : y);
            pen = x;
        }
        if (known && (filled || open) && (!open || y != last))
            mt_putf(o, "v%" PRId32, (int32_t)y - (int32_t)(open ? last : HEIGHT));
        open = known;
        last = y;
    }
}

/* Where the picture above has the red line of what was not survived. */
static void failure(struct mt_out *o, const struct plane *p, const struct mt_driverdiag *j,
                    uint32_t ledger)
{
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        const struct mt_driver_oom *f = &j->ooms.p[i];
        if (f->ledger != ledger || f->is_host || !f->is_fatal || f->time_ns < p->t0)
            continue;
        mt_putf(o, LINE "stroke=\"%s\" stroke-width=\"2\" d=\"M%" PRIu64 " 0v%d\"/>\n",
                mt_color_oom, x_of(p, f->time_ns), HEIGHT);
        return;
    }
}

static void one(struct mt_out *o, const struct plane *p, const struct mt_driverdiag *j,
                uint32_t ledger, const struct mt_clocked *l, unsigned color)
{
    uint64_t top = l->peak_low > l->peak_high ? l->peak_low : l->peak_high;
    char words[MT_CLOCKED_WORDS];
    mt_puts(o, "<p>");
    mt_svg_text(o, mt_clocked_words(words, l), sizeof words);
    mt_putf(o,
            "</p>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %" PRIu64
            " %d\" width=\"%d\" height=\"%d\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\n",
            x_of(p, UINT64_MAX), HEIGHT, WIDTH, HEIGHT);
    failure(o, p, j, ledger); /* below: a short history is not hidden */
    /* with a line around it: a history of a moment is still seen */
    mt_putf(o,
            LINE "stroke=\"currentColor\" stroke-opacity=\".16\" d=\"M0 %dh%" PRIu64
                 "\"/><path vector-effect=\"non-scaling-stroke\" fill=\"%s\" stroke=\"%s\" d=\"",
            HEIGHT, x_of(p, UINT64_MAX), mt_color_hex(color), mt_color_hex(color));
    curve(o, p, l->low, top, true);
    if (mt_clocked_has_line(l)) {
        mt_puts(o, "\"/>" LINE "stroke=\"currentColor\" stroke-width=\"1.3\" "
                   "stroke-dasharray=\"5 3\" d=\"");
        curve(o, p, l->high, top, false);
    }
    mt_puts(o, "\"/></svg>\n");
}

static void draw(struct mt_out *o, const struct mt_driverdiag *j, uint32_t ledger,
                 const struct mt_clocked_list *l)
{
    const struct mt_ledger *g = &j->ledgers.p[ledger];
    const struct plane p = {l, g->t0_ns, g->t1_ns,
                            g->t1_ns - g->t0_ns < (uint64_t)MT_TL_COLUMNS * 1000000 ? 1 : 1000};
    mt_putf(o, "<div class=\"one-clock\" data-gpu=\"%" PRIu32 "\">\n", ledger);
    for (uint32_t i = 0; i < l->n; i++)
        one(o, &p, j, ledger, &l->curve[i],
            i < l->torch ? mt_holder_color(MT_HOLD_TORCH) : MT_COLOR_OTHER);
    mt_puts(o, "</div>\n");
}

void mt_svg_one_clock(struct mt_out *o, const struct mt_report *r, uint32_t ledger)
{
    struct mt_clocked_list l;
    if (!mt_clocked_make(&l, r, ledger))
        o->error = o->error != 0 ? o->error : ENOMEM;
    else if (l.n != 0)
        draw(o, r->diagnosis->driver, ledger, &l);
    mt_clocked_list_done(&l);
}
