#include "render/saved/strip.h"

#include "render/base/escape.h"

enum { COLUMNS = 512, HEIGHT = 120, WIDTH = 1024 };

/* The rows of column c of n. */
static uint32_t row_at(const struct mt_fleet *f, uint32_t n, uint32_t c)
{
    return (uint32_t)((uint64_t)f->rows.n * c / n);
}

static void column(const struct mt_fleet *f, struct mt_out *o, uint32_t n, uint32_t c, uint64_t top)
{
    uint32_t x = WIDTH * c / n, next = WIDTH * (c + 1) / n, height;
    uint64_t live = 0;
    bool failed = false;
    for (uint32_t i = row_at(f, n, c); i < row_at(f, n, c + 1); i++) {
        live = f->rows.p[i].known && f->rows.p[i].live > live ? f->rows.p[i].live : live;
        failed = failed || f->rows.p[i].failed;
    }
    height = (uint32_t)((double)live / (double)top * HEIGHT);
    mt_putf(o, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"%s/>", (unsigned)x,
            (unsigned)(HEIGHT - height), (unsigned)(next - x > 3 ? next - x - 1 : next - x),
            (unsigned)height, failed ? " fill=\"var(--oom)\" fill-opacity=\"1\"" : "");
}

void mt_saved_strip(const struct mt_fleet *f, const struct mt_paper *k)
{
    uint32_t n = f->rows.n < COLUMNS ? f->rows.n : COLUMNS;
    uint64_t top = f->n_known != 0 ? f->rows.p[f->most].live : 0;
    char bytes[32], count[32];
    if (k->format != MT_PAPER_HTML || top == 0 || n < 2)
        return;
    mt_putf(k->o,
            "<svg viewBox=\"0 0 %d %d\" width=\"100%%\" height=\"%d\" "
            "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Peak of each rank, in the "
            "order of their numbers; the highest is %s\" fill=\"currentColor\" "
            "fill-opacity=\".4\">",
            (int)WIDTH, (int)HEIGHT, (int)HEIGHT, mt_fmt_bytes(bytes, top));
    for (uint32_t c = 0; c < n; c++)
        column(f, k->o, n, c, top);
    mt_puts(k->o, "</svg>\n<p>Peak of each rank, from the lowest number to the highest; ");
    if (f->rows.n > n)
        mt_putf(k->o, "a column is the highest of about %s ranks; ",
                mt_fmt_count(count, (f->rows.n + n - 1) / n));
    mt_putf(k->o, "the full height is %s. Red: out of memory.</p>\n", bytes);
}
