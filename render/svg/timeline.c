#include "render/svg/timeline.h"
#include "render/base/escape.h"
#include "render/view/rows.h"
#include "render/svg/asked.h"
#include "render/svg/legend.h"
#include "render/svg/plot.h"
#include "render/view/view.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CHAR_WIDTH = 7 /* generous for a 12 px sans-serif, so that labels never run into each other */
};

bool mt_svg_timeline_has(const struct mt_device_analysis *d)
{
    return d->withheld == NULL && d->timeline.n_columns > 0 && d->timeline.total != NULL;
}

/* A label beside x that stays inside the picture. */
static void put_label(struct mt_out *o, const struct mt_plot *p, uint32_t x, uint32_t y,
                      const char *fill, const char *text)
{
    bool left = x + 10 + (uint32_t)strlen(text) * CHAR_WIDTH > p->left + p->width;
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" fill=\"%s\" font-weight=\"600\"%s>",
            left ? x - 10 : x + 10, y, fill, left ? " text-anchor=\"end\"" : "");
    mt_html_s(o, text);
    mt_puts(o, "</text>\n");
}

static void draw_capacity(struct mt_out *o, const struct mt_plot *p)
{
    char size[32];
    uint32_t y;
    if (!p->capacity_in)
        return;
    y = mt_plot_y(p, p->d->capacity);
    mt_putf(o,
            "<path stroke=\"currentColor\" stroke-width=\"2\" d=\"M%" PRIu32 " %" PRIu32 "h%" PRIu32
            "\"/>",
            p->left, y, p->width);
    mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">capacity %s</text>\n", p->left + 6,
            y + 14, mt_fmt_bytes(size, p->d->capacity));
}

static void draw_peak(struct mt_out *o, const struct mt_plot *p)
{
    char text[MT_WORDS + 64], size[32], when[MT_WORDS];
    uint32_t x;
    if (p->d->peak_event == MT_NO_EVENT || p->d->live_peak == 0)
        return;
    x = mt_plot_x(p, p->d->peak_event, p->d->peak_ns);
    /* Above the plot, because a line through it would hide the one column it marks. */
    mt_putf(o, "<path fill=\"currentColor\" d=\"M%" PRIu32 " %" PRIu32 "l-6 -9h12z\"/>", x,
            p->top - 3);
    (void)snprintf(text, sizeof text, "peak %s, %s", mt_fmt_bytes(size, p->d->live_peak),
                   mt_event_words(when, p->d->peak_event));
    put_label(o, p, x, p->top - 5, "currentColor", text);
}

static void draw_ooms(struct mt_out *o, const struct mt_plot *p)
{
    char text[96], size[40];
    uint32_t last = 0, marks = 0;
    for (uint32_t i = 0; i < p->d->ooms.n && marks < MT_SVG_MAX_OOMS; i++) {
        const struct mt_oom *oom = &p->d->ooms.p[i];
        uint32_t x = mt_plot_x(p, (int64_t)oom->event, oom->time_ns);
        if (marks > 0 && mt_svg_asked_hides(x, last))
            continue;
        mt_putf(o,
                "<path stroke=\"%s\" stroke-width=\"2\" d=\"M%" PRIu32 " %" PRIu32 "V%" PRIu32
                "\"/>",
                mt_color_oom, x, p->top - 18,
                mt_svg_asked_y(p, oom)); /* no further: it would hide what it marks */
        if (marks == 0) {
            (void)snprintf(text, sizeof text, "OOM: asked for %s", mt_row_request(size, oom));
            put_label(o, p, x, p->top - 22, mt_color_oom, text);
        }
        last = x;
        marks++;
    }
}

/* True for the phase that the failure is in: the band has it in the red of errors. */
static bool is_failed(const struct mt_plot *p, uint32_t row)
{
    const struct mt_phase_row *r = &p->d->phases.p[row];
    return p->d->ooms.n != 0 && r->phase == p->d->ooms.p[0].attr.phase &&
           r->sub == p->d->ooms.p[0].attr.sub;
}

/* The place that a column goes by where there is no room for more: what is around, or where that is
 * not told what is inside. */
static enum mt_phase place_of(const struct mt_plot *p, uint32_t column)
{
    const struct mt_phase_row *r = p->d->phases.p + p->phase[column];
    return p->phase[column] < p->d->phases.n ? mt_phase_outer(r->phase, r->sub) : MT_PH_NONE;
}

/* A name in the middle of columns, where it fits. */
static bool put_name(struct mt_out *o, const struct mt_plot *p, uint32_t from, uint32_t end,
                     const char *words)
{
    uint32_t x = mt_plot_column_x(p, from), width = mt_plot_column_x(p, end) - x;
    if (strlen(words) * CHAR_WIDTH > width)
        return false;
    mt_putf(o, "<text font-size=\"11\" text-anchor=\"middle\" x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">",
            x + width / 2, p->top + p->height + 18);
    mt_svg_text(o, words, MT_WORDS);
    mt_puts(o, "</text>\n");
    return true;
}

/* Each stretch with its name; stretches in one place that are all too narrow share one. */
static void name_band(struct mt_out *o, const struct mt_plot *p)
{
    for (uint32_t i = 0, end, last; i < p->n; i = last) {
        bool any = false;
        for (last = i + 1; last < p->n && place_of(p, last) == place_of(p, i); last++)
            ;
        for (uint32_t from = i; from < last; from = end) {
            const struct mt_phase_row *row = &p->d->phases.p[p->phase[from]];
            for (end = from + 1; end < last && p->phase[end] == p->phase[from]; end++)
                ;
            if (p->phase[from] < p->d->phases.n)
                any |=
                    put_name(o, p, from, end, mt_phase_in_words(row->phase, row->sub, false).s) ||
                    (row->sub != MT_PH_NONE && put_name(o, p, from, end, mt_phase_words(row->sub)));
        }
        if (!any && place_of(p, i) != MT_PH_NONE)
            (void)put_name(o, p, i, last, mt_phase_words(place_of(p, i)));
    }
}

/* Which phase held when, under the plot, in grey with names: a colour is a role. */
static void draw_band(struct mt_out *o, const struct mt_plot *p)
{
    uint32_t y = p->top + p->height + (p->s->small ? 3 : 6), h = p->s->small ? 8 : 16;
    for (unsigned failed = 0; failed < (p->d->ooms.n != 0 ? 2u : 1u); failed++) {
        mt_putf(o, "<path fill=\"%s\" fill-opacity=\".2\" d=\"",
                failed ? mt_color_oom : "currentColor");
        for (uint32_t i = 0, end; i < p->n; i = end) {
            uint32_t x = mt_plot_column_x(p, i), w;
            for (end = i + 1; end < p->n && p->phase[end] == p->phase[i]; end++)
                ;
            w = mt_plot_column_x(p, end) - x;
            if (p->phase[i] < p->d->phases.n && is_failed(p, p->phase[i]) == (failed != 0))
                mt_putf(o, "M%" PRIu32 " %" PRIu32 "h%" PRIu32 "v%" PRIu32 "h-%" PRIu32 "z", x, y,
                        w > 2 ? w - 1 : w, h, w > 2 ? w - 1 : w);
        }
        mt_puts(o, "\"/>\n");
    }
    if (!p->s->small)
        name_band(o, p);
}

static const struct mt_timeline *timeline_of(const struct mt_svg *s)
{
    return s->tl != NULL ? s->tl : &s->dev->timeline;
}

static void put_desc(struct mt_out *o, const struct mt_svg *s)
{
    const struct mt_device_analysis *d = s->dev;
    char a[40], b[32], when[MT_WORDS], span[32];
    mt_putf(o, "<title id=\"tl%u\">Live memory of ", s->id);
    mt_html_s(o, s->what);
    mt_putf(o, ", stacked by what it is for</title>\n<desc id=\"tl%ud\">", s->id);
    mt_putf(o, "%s events", mt_fmt_count(a, d->n_events));
    if (timeline_of(s)->has_time)
        mt_putf(o, " over %s", mt_fmt_seconds(span, d->timeline.x1 - d->timeline.x0));
    mt_putf(o, ". Live memory starts at %s, peaks at %s", mt_fmt_bytes(a, d->live_start),
            mt_fmt_bytes(b, d->live_peak));
    mt_putf(o, " (%s) and ends at %s", mt_event_words(when, d->peak_event),
            mt_fmt_bytes(a, d->live_end));
    if (!mt_reserved_unknown(d))
        mt_putf(o, "; reserved memory is at most %s", mt_fmt_bytes(a, d->reserved_peak));
    mt_puts(o, ".");
    for (uint32_t i = 0; i < d->ooms.n && i < 3; i++)
        mt_putf(o, " Out of memory at %s, asking for %s.",
                mt_event_words(when, (int64_t)d->ooms.p[i].event),
                mt_row_request(a, &d->ooms.p[i]));
    mt_puts(o, "</desc>\n");
}

void mt_svg_open(struct mt_out *o, const struct mt_svg *s, uint32_t width, uint32_t height)
{
    mt_putf(o,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %" PRIu32 " %" PRIu32
            "\" width=\"%" PRIu32 "\" height=\"%" PRIu32
            "\" role=\"img\" aria-labelledby=\"tl%u tl%ud\" font-family=\"system-ui, sans-serif\""
            " font-size=\"%u\" fill=\"currentColor\" class=\"%s\">\n",
            width, height, width, height, s->id, s->id, s->small ? 11u : 12u,
            s->small ? "plot small" : "plot");
}

static void draw_legend(struct mt_out *o, const struct mt_plot *p, const struct mt_legend *l,
                        uint32_t y)
{
    char a[32];
    mt_putf(o,
            "<text x=\"%" PRIu32 "\" y=\"%" PRIu32
            "\" font-weight=\"600\">Live %s, by what it is for: %s</text>\n",
            p->left, y, mt_focus_words(p->d), mt_fmt_bytes(a, p->d->focus.live));
    if (!mt_reserved_unknown(p->d))
        mt_putf(o,
                "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" "
                "stroke-dasharray=\"5 3\" d=\"M%" PRIu32 " %" PRIu32 "h28\"/><text x=\"%" PRIu32
                "\" y=\"%" PRIu32 "\">reserved by PyTorch, at most %s</text>\n",
                p->left + 744, y - 4, p->left + 780, y, mt_fmt_bytes(a, p->d->reserved_peak));
    mt_legend_draw(o, l, p->left, y + 12);
}

/* One try with columns merged `merge` to one. False when out of memory. */
static bool draw(struct mt_out *o, const struct mt_svg *s, uint32_t merge)
{
    struct mt_plot p = {.s = s, .d = s->dev, .tl = timeline_of(s)};
    struct mt_legend legend;
    bool ok;
    p.left = s->small ? 48 : 58;
    p.top = s->small ? 34 : 44;
    p.width = s->small ? 496 : 1106;
    p.height = s->small ? 84 : 290;
    ok = mt_plot_init(&p, merge);
    if (ok) {
        mt_legend_build(&legend, s->dev, p.order, p.n_layers);
        uint32_t key = mt_svg_asked_has_key(s) ? MT_SVG_ASKED_KEY : 0;
        mt_svg_open(o, s, s->small ? 560 : 1180,
                    p.top + p.height + (s->small ? 38 : 102 + key + mt_legend_height(&legend)));
        put_desc(o, s);
        mt_plot_grid(o, &p);
        mt_puts(o, "<g shape-rendering=\"crispEdges\">\n");
        mt_svg_asked(o, &p);
        ok = mt_plot_layers(o, &p);
        draw_band(o, &p);
        mt_puts(o, "</g>\n");
        if (!s->small)
            mt_plot_names(o, &p, &legend);
        ok = ok && (mt_reserved_unknown(p.d) || mt_plot_reserved(o, &p));
        draw_capacity(o, &p);
        draw_ooms(o, &p);
        draw_peak(o, &p);
        mt_svg_asked_key(o, &p, p.top + p.height + 88);
        if (!s->small)
            draw_legend(o, &p, &legend, p.top + p.height + 92 + key);
        mt_puts(o, "</svg>\n");
    }
    mt_plot_done(&p);
    return ok;
}

void mt_svg_timeline(struct mt_out *o, const struct mt_svg *s)
{
    for (uint32_t merge = 1;; merge *= 2) {
        struct mt_out mem;
        bool ok = mt_out_mem(&mem) && draw(&mem, s, merge);
        bool fits = mem.n <= MT_SVG_MAX_BYTES || merge >= timeline_of(s)->n_columns;
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
