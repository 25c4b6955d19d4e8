#include "render/svg/ledger.h"

#include "parser/base/mem.h"
#include "render/base/escape.h"
#include "render/view/driver.h"
#include "render/view/palette.h"
#include "render/svg/legend.h"
#include "render/svg/scale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ID_BASE 20000u /* apart from the timelines of snapshots */
#define MAX_BYTES 28672u
enum { MAX_DOTS = 160, MAX_OOM_MARKS = 16, CHAR_WIDTH = 7, LEGEND_COLUMN = 276, LEGEND_ROW = 20 };

/* From the base line up. What is not explained comes last: it is what the
 * device's own figure adds. */
static const uint8_t layers[MT_HOLD_COUNT] = {
    MT_HOLD_TORCH,   MT_HOLD_ENGINE,  MT_HOLD_NCCL,    MT_HOLD_MATH,  MT_HOLD_GRAPHS,
    MT_HOLD_CONTEXT, MT_HOLD_LIBRARY, MT_HOLD_UNKNOWN, MT_HOLD_OTHER, MT_HOLD_UNEXPLAINED};

unsigned mt_holder_color(enum mt_holder h)
{
    static const uint8_t color[MT_HOLD_COUNT] = {
        [MT_HOLD_TORCH] = 5,   [MT_HOLD_ENGINE] = 6,
        [MT_HOLD_NCCL] = 3,    [MT_HOLD_MATH] = 4,
        [MT_HOLD_GRAPHS] = 9,  [MT_HOLD_CONTEXT] = 8,
        [MT_HOLD_LIBRARY] = 7, [MT_HOLD_UNKNOWN] = MT_COLOR_UNATTRIBUTED,
        [MT_HOLD_OTHER] = 10,  [MT_HOLD_UNEXPLAINED] = MT_COLOR_OTHER,
    };
    return (unsigned)h < MT_HOLD_COUNT ? color[h] : MT_COLOR_OTHER;
}

bool mt_svg_ledger_has(const struct mt_ledger *l)
{
    return l->n_columns > 1 && (l->peak_named != 0 || l->peak_used != 0);
}

struct plot {
    const struct mt_svg_ledger *s;
    const struct mt_ledger *l;
    struct mt_scale y;
    uint32_t left, top, width, height, n, merge;
    uint32_t *pick; /* the column of the ledger that each drawn one shows */
    uint8_t *phase; /* of each drawn column */
    bool capacity_in, used[MT_HOLD_COUNT];
    /* of phases whose name does not fit somewhere: told in the legend */
    uint8_t number[MT_PH_COUNT];
    unsigned n_numbers;
};

/* A stretch of columns of one phase. */
struct stretch {
    enum mt_phase phase;
    uint32_t x, width, end; /* end: the column behind it */
};

static uint32_t y_of(const struct plot *p, uint64_t bytes)
{
    return p->top + p->height - mt_scale_px(bytes, p->y.top, p->height);
}
static uint32_t column_x(const struct plot *p, uint32_t c)
{
    return p->left + (uint32_t)((uint64_t)p->width * c / p->n);
}
static uint32_t x_of(const struct plot *p, uint64_t t)
{
    uint64_t at = t < p->l->t0_ns   ? 0
                  : t > p->l->t1_ns ? p->l->t1_ns - p->l->t0_ns
                                    : t - p->l->t0_ns;
    return p->left + mt_scale_px(at, p->l->t1_ns - p->l->t0_ns + 1, p->width);
}

static const int64_t *column(const struct plot *p, uint32_t i)
{
    return p->l->by_holder + (size_t)p->pick[i] * MT_HOLD_COUNT;
}

static struct stretch stretch_at(const struct plot *p, uint32_t i)
{
    struct stretch s = {.phase = (enum mt_phase)p->phase[i], .x = column_x(p, i), .end = i + 1};
    while (s.end < p->n && p->phase[s.end] == p->phase[i])
        s.end++;
    s.width = column_x(p, s.end) - s.x;
    return s;
}

static bool name_fits(const struct stretch *s)
{
    return strlen(mt_phase_words(s->phase)) * CHAR_WIDTH <= s->width;
}

static bool is_numbered(const struct stretch *s)
{
    return s->phase != MT_PH_UNATTRIBUTED && !name_fits(s) && s->width >= 2 * CHAR_WIDTH;
}

static void number_phases(struct plot *p)
{
    struct stretch s;
    for (uint32_t i = 0; i < p->n && !p->s->small; i = s.end) {
        s = stretch_at(p, i);
        if (is_numbered(&s) && p->number[s.phase] == 0)
            p->number[s.phase] = (uint8_t)++p->n_numbers;
    }
}

/* A failure at the end of a long recording takes a part of a column: it is drawn wide enough to be
 * seen. */
static void widen(struct plot *p)
{
    enum { PIXELS = 6 };
    const struct mt_ledger *l = p->l;
    const struct mt_driverdiag *j = p->s->driver;
    uint32_t wide = PIXELS * p->n / p->width + 1;
    uint64_t whole = l->t1_ns - l->t0_ns + 1;
    if (l->focus_ns >= l->t0_ns && l->focus_ns <= l->t1_ns)
        mt_scale_widen(p->pick, p->n, mt_scale_px(l->focus_ns - l->t0_ns, whole, p->n), wide,
                       l->named);
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        const struct mt_driver_oom *f = &j->ooms.p[i];
        if (f->ledger == p->s->ledger && f->is_fatal && !f->is_host && f->time_ns >= l->t0_ns &&
            f->time_ns <= l->t1_ns)
            mt_scale_widen(p->pick, p->n, mt_scale_px(f->time_ns - l->t0_ns, whole, p->n), wide,
                           l->named);
    }
}

static bool init(struct plot *p)
{
    const struct mt_ledger *l = p->l;
    uint64_t max = 0;
    p->n = (l->n_columns + p->merge - 1) / p->merge;
    p->pick = mt_calloc(p->n, sizeof *p->pick);
    p->phase = mt_calloc(p->n, sizeof *p->phase);
    if (p->pick == NULL || p->phase == NULL)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t from = i * p->merge,
                 end = from + p->merge < l->n_columns ? from + p->merge : l->n_columns;
        p->pick[i] = from;
        for (uint32_t c = from; c < end; c++) {
            uint64_t v = l->used[c] > l->named[c] ? l->used[c] : l->named[c];
            if (l->named[c] > l->named[p->pick[i]])
                p->pick[i] = c;
            if (v > max)
                max = v;
        }
        p->phase[i] = l->phase[p->pick[i]];
        for (int h = 0; h < MT_HOLD_COUNT; h++)
            p->used[h] |= column(p, i)[h] > 0;
    }
    if (l->peak_used > max)
        max = l->peak_used;
    p->capacity_in = l->capacity != 0 && (max == 0 || l->capacity / max < 3);
    if (p->capacity_in && l->capacity > max)
        max = l->capacity;
    p->y = mt_scale_bytes(max, p->s->small ? 3 : 6);
    widen(p);
    number_phases(p);
    return true;
}

static void grid(struct mt_out *o, const struct plot *p)
{
    char label[32], utc[40];
    uint32_t base = p->top + p->height;
    struct mt_scale x = mt_scale_time(p->l->t1_ns - p->l->t0_ns, p->s->small ? 4 : 8);
    mt_puts(o, "<g stroke=\"currentColor\" stroke-opacity=\".16\">");
    for (uint64_t v = 0; v <= p->y.top; v += p->y.step)
        mt_putf(o, "<path d=\"M%" PRIu32 " %" PRIu32 "h%" PRIu32 "\"/>", p->left, y_of(p, v),
                p->width);
    mt_puts(o, "</g>\n<g text-anchor=\"end\">");
    for (uint64_t v = 0; v <= p->y.top; v += p->y.step)
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s</text>", p->left - 8,
                y_of(p, v) + 4, mt_scale_label(&p->y, v, label));
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" opacity=\".75\">%s</text></g>\n",
            p->left - 8, p->top - 12, p->y.name);
    mt_puts(o, "<g text-anchor=\"middle\">");
    for (uint64_t v = 0; v <= p->l->t1_ns - p->l->t0_ns && v / x.step < 16; v += x.step)
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s</text>", x_of(p, p->l->t0_ns + v),
                base + 16, mt_scale_label(&x, v, label));
    if (!p->s->small)
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" opacity=\".75\">%s after %s</text>",
                p->left + p->width / 2, base + 34, x.name, mt_fmt_utc(utc, p->l->t0_ns));
    mt_puts(o, "</g>\n");
}

/* From the top layer down, each filled to the base line: what is below covers
 * it. */
static void stack(struct mt_out *o, const struct plot *p)
{
    for (unsigned k = MT_HOLD_COUNT; k-- > 0;) {
        uint32_t last = 0, at = 0;
        if (!p->used[layers[k]])
            continue;
        mt_putf(o, "<path fill=\"%s\" d=\"",
                mt_color_hex(mt_holder_color((enum mt_holder)layers[k])));
        for (uint32_t i = 0; i <= p->n; i++) {
            uint64_t sum = 0;
            uint32_t y;
            for (unsigned m = 0; i < p->n && m <= k; m++)
                sum += column(p, i)[layers[m]] > 0 ? (uint64_t)column(p, i)[layers[m]] : 0;
            y = y_of(p, sum);
            if (i == 0)
                mt_putf(o, "M%" PRIu32 " %" PRIu32, p->left, y);
            else if (i == p->n || y != last)
                mt_putf(o, "h%" PRIu32, column_x(p, i) - column_x(p, at));
            if (i == p->n)
                break;
            if (i != 0 && y != last)
                mt_putf(o, "v%" PRId64, (int64_t)y - (int64_t)last);
            if (i == 0 || y != last)
                at = i;
            last = y;
        }
        mt_putf(o, "V%" PRIu32 "H%" PRIu32 "z\"/>\n", p->top + p->height, p->left);
    }
}

/* The device's own figure, where it is known. */
static void used_line(struct mt_out *o, const struct plot *p)
{
    bool open = false;
    uint32_t last = 0;
    if (p->l->checks.n == 0)
        return;
    mt_puts(o, "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" d=\"");
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t y = y_of(p, p->l->used[p->pick[i]]);
        if (p->l->used[p->pick[i]] == 0) {
            open = false;
            continue;
        }
        if (!open)
            mt_putf(o, "M%" PRIu32 " %" PRIu32, column_x(p, i), y);
        else if (y != last)
            mt_putf(o, "V%" PRIu32, y);
        if (i + 1 == p->n || !open || p->l->used[p->pick[i + 1]] == 0 ||
            y_of(p, p->l->used[p->pick[i + 1]]) != y)
            mt_putf(o, "H%" PRIu32, column_x(p, i + 1));
        open = true;
        last = y;
    }
    mt_puts(o, "\"/>\n");
}

static void dots(struct mt_out *o, const struct plot *p)
{
    uint32_t step = p->l->checks.n / MAX_DOTS + 1;
    if (p->s->small || p->l->checks.n == 0)
        return;
    mt_puts(o, "<g fill=\"none\" stroke=\"currentColor\" stroke-width=\"4\" "
               "stroke-linecap=\"round\"><path d=\"");
    for (uint32_t i = 0; i < p->l->checks.n; i += step)
        mt_putf(o, "M%" PRIu32 " %" PRIu32 "h0", x_of(p, p->l->checks.p[i].time_ns),
                y_of(p, p->l->checks.p[i].used));
    mt_puts(o, "\"/></g>\n");
}

static void capacity(struct mt_out *o, const struct plot *p)
{
    char b[32];
    uint32_t y;
    if (!p->capacity_in)
        return;
    y = y_of(p, p->l->capacity);
    mt_putf(o,
            "<path stroke=\"currentColor\" stroke-width=\"2\" d=\"M%" PRIu32 " %" PRIu32 "h%" PRIu32
            "\"/>",
            p->left, y, p->width);
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">capacity %s</text>\n", p->left + 6,
            y >= p->top + 12 ? y - 4 : y + 14,
            mt_fmt_bytes(b, p->l->capacity)); /* above the line nothing is drawn */
}

/* The name of a phase where it fits, else a number that the legend explains. */
static void name_phase(struct mt_out *o, const struct plot *p, const struct stretch *s)
{
    uint32_t x = s->x + s->width / 2, y = p->top - 11;
    if (name_fits(s))
        mt_putf(o,
                "<text font-size=\"11\" text-anchor=\"middle\" x=\"%" PRIu32 "\" y=\"%" PRIu32
                "\">%s</text>",
                x, y, mt_phase_words(s->phase));
    else if (is_numbered(s))
        mt_putf(o,
                "<text font-size=\"11\" text-anchor=\"middle\" x=\"%" PRIu32 "\" y=\"%" PRIu32
                "\">%u</text>",
                x, y, p->number[s->phase]);
}

/* Which phase held when, above the plot: boxes in two shades. */
static void band(struct mt_out *o, const struct plot *p)
{
    uint32_t y = p->top - (p->s->small ? 12 : 24), h = p->s->small ? 8 : 18;
    struct stretch s;
    unsigned shade = 0;
    for (uint32_t i = 0; i < p->n; i = s.end) {
        s = stretch_at(p, i);
        if (s.phase == MT_PH_UNATTRIBUTED)
            continue;
        mt_putf(o,
                "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" width=\"%" PRIu32 "\" height=\"%" PRIu32
                "\" fill=\"currentColor\" fill-opacity=\"%s\"><title>%s</title></rect>",
                s.x, y, s.width, h, shade++ % 2 == 0 ? ".12" : ".24", mt_phase_words(s.phase));
        if (!p->s->small)
            name_phase(o, p, &s);
        mt_putc(o, '\n');
    }
}

/* "Phases: 1 rollout generation, 2 weight sync", in as many lines as it takes. o = NULL: only
 * counts them. */
static uint32_t explain_numbers(struct mt_out *o, const struct plot *p, uint32_t y)
{
    uint32_t lines = 0, used = 0, room = p->width / CHAR_WIDTH;
    for (unsigned k = 1; k <= p->n_numbers; k++) {
        const char *words = "";
        for (int phase = 0; phase < MT_PH_COUNT; phase++)
            if (p->number[phase] == k)
                words = mt_phase_words((enum mt_phase)phase);
        if (lines == 0 || used + strlen(words) + 6 > room) {
            if (o != NULL)
                mt_putf(o, "%s<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s",
                        lines != 0 ? "</text>\n" : "", p->left, y + lines * LEGEND_ROW,
                        lines == 0 ? "Phases: " : "");
            used = lines == 0 ? 8 : 0;
            lines++;
        }
        used += (uint32_t)strlen(words) + 6;
        if (o != NULL)
            mt_putf(o, "%u %s%s", k, words, k < p->n_numbers ? ", " : "");
    }
    if (o != NULL && lines != 0)
        mt_puts(o, "</text>\n");
    return lines;
}

static void label(struct mt_out *o, const struct plot *p, uint32_t x, uint32_t y, const char *fill,
                  const char *text)
{
    bool left = x + 10 + (uint32_t)strlen(text) * CHAR_WIDTH > p->left + p->width;
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" fill=\"%s\" font-weight=\"600\"%s>",
            left ? x - 8 : x + 8, y, fill, left ? " text-anchor=\"end\"" : "");
    mt_html_s(o, text);
    mt_puts(o, "</text>\n");
}

static void marks(struct mt_out *o, const struct plot *p)
{
    const struct mt_driverdiag *j = p->s->driver;
    char text[128], b[32];
    uint32_t n = 0, last = 0;
    bool named = false;
    /* what was not survived is named; the rest are thin lines */
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < j->ooms.n && n < MAX_OOM_MARKS; i++) {
            const struct mt_driver_oom *f = &j->ooms.p[i];
            uint32_t x = x_of(p, f->time_ns);
            if (f->ledger != p->s->ledger || f->is_host || f->is_fatal != (pass == 0) ||
                (n != 0 && x == last))
                continue;
            mt_putf(o,
                    "<path stroke=\"%s\" stroke-width=\"%s\" d=\"M%" PRIu32 " %" PRIu32 "V%" PRIu32
                    "\"/>",
                    mt_color_oom, pass == 0 ? "2" : "1", x,
                    p->top - (pass == 0 ? p->s->small ? 16 : 30 : 0), p->top + p->height);
            if (pass == 0 && !named) {
                (void)snprintf(text, sizeof text, "%s: asked for %s", mt_holder_words(f->who),
                               f->request != 0 ? mt_fmt_bytes(b, f->request)
                                               : "a size that is not recorded");
                label(o, p, x, p->top - (p->s->small ? 18 : 34), mt_color_oom, text);
                named = true;
            }
            last = x;
            n++;
        }
    }
    if (!named && p->l->focus_ns != 0) {
        uint32_t x = x_of(p, p->l->focus_ns);
        uint64_t most = p->l->focus_used != 0 ? p->l->focus_used : p->l->focus_named;
        (void)snprintf(text, sizeof text, "peak %s", mt_fmt_bytes(b, most));
        mt_putf(o, "<path fill=\"currentColor\" d=\"M%" PRIu32 " %" PRIu32 "l-5 -8h10z\"/>", x,
                p->top - (p->s->small ? 13 : 27));
        label(o, p, x, p->top - (p->s->small ? 16 : 30), "currentColor", text);
    }
}

static void legend(struct mt_out *o, const struct plot *p, uint32_t y)
{
    uint32_t x = p->left, n = 0;
    char b[32];
    int64_t sum[MT_HOLD_COUNT] = {0};
    for (uint32_t i = 0; i < p->l->rows.n; i++)
        sum[p->l->rows.p[i].holder] += p->l->rows.p[i].bytes;
    for (unsigned k = 0; k < MT_HOLD_COUNT; k++) {
        enum mt_holder h = (enum mt_holder)layers[k];
        if (!p->used[h])
            continue;
        if (n != 0 && n % 4 == 0) {
            x = p->left;
            y += LEGEND_ROW;
        }
        mt_putf(o,
                "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32
                "\" width=\"11\" height=\"11\" rx=\"2\" fill=\"%s\"/><text x=\"%" PRIu32
                "\" y=\"%" PRIu32 "\">%s, %s%s</text>\n",
                x, y - 10, mt_color_hex(mt_holder_color(h)), x + 17, y,
                mt_ledger_holder_words(p->l, h), sum[h] < 0 ? "-" : "",
                mt_fmt_bytes(b, sum[h] < 0 ? (uint64_t)-sum[h] : (uint64_t)sum[h]));
        x += LEGEND_COLUMN;
        n++;
    }
    if (p->l->checks.n != 0)
        mt_putf(o,
                "<path stroke=\"currentColor\" stroke-width=\"1.5\" d=\"M%" PRIu32 " %" PRIu32
                "h28\"/><text x=\"%" PRIu32 "\" y=\"%" PRIu32
                "\">used on the device; dots: samples; bytes: %s</text>\n",
                p->left, y + 16, p->left + 36, y + 20, mt_ledger_focus_words(p->l));
    (void)explain_numbers(o, p, y + (p->l->checks.n != 0 ? 2u : 1u) * LEGEND_ROW);
}

static void describe(struct mt_out *o, const struct plot *p)
{
    const struct mt_ledger *l = p->l;
    uint32_t id = ID_BASE + p->s->ledger;
    char a[32], b[32];
    mt_putf(o, "<title id=\"tl%" PRIu32 "\">Memory of ", id);
    mt_svg_text(o, l->name, 160);
    mt_putf(o, " over time, by owner</title>\n<desc id=\"tl%" PRIu32 "d\">", id);
    mt_putf(o, "%s recorded. Recorded calls hold at most %s",
            mt_fmt_seconds(a, l->t1_ns - l->t0_ns), mt_fmt_bytes(b, l->peak_named));
    if (l->checks.n != 0)
        mt_putf(o, "; the device had at most %s in use", mt_fmt_bytes(a, l->peak_used));
    if (l->capacity != 0)
        mt_putf(o, " of %s", mt_fmt_bytes(b, l->capacity));
    mt_puts(o, ".</desc>\n");
}

static bool draw(struct mt_out *o, const struct mt_svg_ledger *s, uint32_t merge)
{
    struct plot p = {.s = s, .l = &s->driver->ledgers.p[s->ledger], .merge = merge};
    uint32_t width = s->small ? 560 : 1180, height, n = 0;
    bool ok;
    p.left = s->small ? 48 : 58;
    p.top = s->small ? 40 : 62;
    p.width = s->small ? 496 : 1106;
    p.height = s->small ? 96 : 220;
    ok = init(&p);
    if (ok) {
        for (int h = 0; h < MT_HOLD_COUNT; h++)
            n += p.used[h];
        height = p.top + p.height +
                 (s->small ? 26 : 92 + (n / 4 + explain_numbers(NULL, &p, 0)) * LEGEND_ROW);
        mt_putf(o,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %" PRIu32 " %" PRIu32
                "\" width=\"%" PRIu32 "\" height=\"%" PRIu32
                "\" role=\"img\" aria-labelledby=\"tl%u tl%ud\" "
                "font-family=\"system-ui, sans-serif\" font-size=\"%u\" "
                "fill=\"currentColor\" class=\"%s\">\n",
                width, height, width, height, ID_BASE + (unsigned)s->ledger,
                ID_BASE + (unsigned)s->ledger, s->small ? 11u : 12u,
                s->small ? "plot small" : "plot");
        describe(o, &p);
        grid(o, &p);
        mt_puts(o, "<g shape-rendering=\"crispEdges\">\n");
        stack(o, &p);
        band(o, &p);
        mt_puts(o, "</g>\n");
        used_line(o, &p);
        dots(o, &p);
        capacity(o, &p);
        marks(o, &p);
        if (!s->small)
            legend(o, &p, p.top + p.height + 60);
        mt_puts(o, "</svg>\n");
    }
    mt_free(p.pick);
    mt_free(p.phase);
    return ok;
}

void mt_svg_ledger(struct mt_out *o, const struct mt_svg_ledger *s)
{
    for (uint32_t merge = 1;; merge *= 2) { /* a busier picture is drawn with wider columns */
        struct mt_out mem;
        bool ok = mt_out_mem(&mem) && draw(&mem, s, merge);
        bool fits = mem.n <= MAX_BYTES || merge >= 8;
        if (mt_out_finish(&mem) != 0)
            ok = false;
        if (!ok && o->error == 0)
            o->error = ENOMEM;
        if (ok && fits)
            mt_put(o, mem.buf, mem.used);
        mt_out_done(&mem);
        if (!ok || fits)
            return;
    }
}
