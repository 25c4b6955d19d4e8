#include "render/svg/one_clock.h"

#include "render/base/escape.h"
#include "render/svg/ledger.h"
#include "render/svg/legend.h"
#include "render/svg/scale.h"
#include "render/view/one_clock.h"
#include "render/view/palette.h"

#include <errno.h>
#include <inttypes.h>

/* Left and width are those of svg/ledger.c: the clocks lie below each other. */
enum { LEFT = 58, WIDTH = 1106, WHOLE = 1180, WORDS = 15, HEIGHT = 32, ROOM = 54, ID_BASE = 21000 };

static uint32_t column_x(const struct mt_ledger *g, uint32_t c)
{
    return LEFT + (uint32_t)((uint64_t)WIDTH * c / g->n_columns);
}

/* Stretches of known columns: filled to the base line, or open. */
static void curve(struct mt_out *o, const struct mt_ledger *g, const uint64_t *v, uint64_t top,
                  uint32_t base, bool filled)
{
    bool open = false;
    uint32_t last = 0;
    for (uint32_t i = 0; i <= g->n_columns; i++) {
        bool known = i < g->n_columns && v[i] != MT_CLOCKED_UNKNOWN;
        uint32_t y = known ? base - mt_scale_px(v[i], top, HEIGHT) : base;
        if (open && (!known || y != last))
            mt_putf(o, "H%" PRIu32, column_x(g, i));
        if (open && !known && filled)
            mt_putf(o, "V%" PRIu32 "z", base);
        if (known && !open)
            mt_putf(o, "M%" PRIu32 " %" PRIu32, column_x(g, i), filled ? base : y);
        if (known && (filled || open) && (!open || y != last))
            mt_putf(o, "V%" PRIu32, y);
        open = known;
        last = y;
    }
}

static void one(struct mt_out *o, const struct mt_ledger *g, const struct mt_clocked *l, uint32_t y,
                unsigned color)
{
    uint64_t top = l->peak_low > l->peak_high ? l->peak_low : l->peak_high;
    char words[MT_CLOCKED_WORDS];
    mt_putf(o, "<text x=\"%d\" y=\"%" PRIu32 "\">", LEFT, y + WORDS - 4);
    mt_svg_text(o, mt_clocked_words(words, l), sizeof words);
    mt_putf(o,
            "</text>\n<path stroke=\"currentColor\" stroke-opacity=\".16\" d=\"M%d %" PRIu32
            "h%d\"/><path fill=\"%s\" d=\"",
            LEFT, y + WORDS + HEIGHT, WIDTH, mt_color_hex(color));
    curve(o, g, l->low, top, y + WORDS + HEIGHT, true);
    if (mt_clocked_has_line(l)) {
        mt_puts(o, "\"/><path fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.3\" "
                   "stroke-dasharray=\"5 3\" d=\"");
        curve(o, g, l->high, top, y + WORDS + HEIGHT, false);
    }
    mt_puts(o, "\"/>\n");
}

/* Through all of them, where the picture above has the red line of what was not survived. */
static void failure(struct mt_out *o, const struct mt_driverdiag *j, uint32_t ledger,
                    uint32_t height)
{
    const struct mt_ledger *g = &j->ledgers.p[ledger];
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        const struct mt_driver_oom *f = &j->ooms.p[i];
        if (f->ledger != ledger || f->is_host || !f->is_fatal || f->time_ns < g->t0_ns)
            continue;
        mt_putf(o, "<path stroke=\"%s\" stroke-width=\"2\" d=\"M%" PRIu32 " 0v%" PRIu32 "\"/>\n",
                mt_color_oom,
                LEFT + mt_scale_px(f->time_ns - g->t0_ns, g->t1_ns - g->t0_ns + 1, WIDTH), height);
        return;
    }
}

void mt_svg_one_clock(struct mt_out *o, const struct mt_report *r, uint32_t ledger)
{
    const struct mt_ledger *g = &r->diagnosis->driver->ledgers.p[ledger];
    struct mt_clocked_list l;
    if (!mt_clocked_make(&l, r, ledger)) {
        o->error = o->error != 0 ? o->error : ENOMEM;
    } else if (l.n != 0) {
        uint32_t height = l.n * ROOM;
        mt_putf(o,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32
                "\" width=\"%d\" height=\"%" PRIu32 "\" role=\"img\" aria-labelledby=\"tl%" PRIu32
                "\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"currentColor\" "
                "class=\"plot one-clock\">\n<title id=\"tl%" PRIu32
                "\">On the same clock: what PyTorch saw from inside, and host memory</title>\n",
                WHOLE, height, WHOLE, height, ID_BASE + ledger, ID_BASE + ledger);
        failure(o, r->diagnosis->driver, ledger, height); /* below: a short history is not hidden */
        for (uint32_t i = 0; i < l.n; i++)
            one(o, g, &l.curve[i], i * ROOM,
                i < l.torch ? mt_holder_color(MT_HOLD_TORCH) : MT_COLOR_OTHER);
        mt_puts(o, "</svg>\n");
    }
    mt_clocked_list_done(&l);
}
