/* What each step reached, and what grows from step to step. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/svg/scale.h"
#include "render/svg/two.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 12, WIDTH = 1180, LEFT = 74, TOP = 8, HEIGHT = 130, BARS = 138 };

static bool has(const struct mt_page *p) { return mt_h_has_rows(p, mt_section_steps, NULL); }

static uint32_t y_of(const struct mt_scale *s, uint64_t bytes)
{
    return TOP + HEIGHT - mt_scale_px(bytes, s->top, HEIGHT);
}

/* Steps that share a bar are shown by their highest. */
static void picture(const struct mt_role_facts *f, struct mt_out *o)
{
    uint32_t n = f->steps.n, bars = n < BARS ? n : BARS, wide = (WIDTH - LEFT) / bars,
             gap = wide > 6 ? 2 : 0;
    uint64_t most = 1;
    struct mt_scale y;
    char label[32];
    if (wide > 40)
        wide = 40;
    for (uint32_t i = 0; i < n; i++)
        most = f->steps.p[i].peak > most ? f->steps.p[i].peak : most;
    y = mt_scale_bytes(most, 4);
    mt_putf(o,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Steps\"><svg "
            "class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Peak and end of each "
            "step\" font-size=\"13\" fill=\"currentColor\">\n",
            WIDTH, TOP + HEIGHT + 24);
    for (uint64_t v = 0; v <= y.top; v += y.step) {
        mt_putf(o,
                "<rect x=\"%d\" y=\"%" PRIu32 "\" width=\"%d\" height=\"1\" fill-opacity=\".15\"/>",
                LEFT, y_of(&y, v), WIDTH - LEFT);
        mt_putf(o, "<text x=\"%d\" y=\"%" PRIu32 "\" text-anchor=\"end\">%s %s</text>\n", LEFT - 8,
                y_of(&y, v) + 4, mt_scale_label(&y, v, label), y.name);
    }
    for (uint32_t k = 0; k < bars; k++) {
        uint32_t from = (uint32_t)((uint64_t)k * n / bars),
                 to = (uint32_t)((uint64_t)(k + 1) * n / bars), x = LEFT + 6 + k * wide;
        uint64_t peak = 0, end = 0;
        for (uint32_t i = from; i < to; i++) {
            peak = f->steps.p[i].peak > peak ? f->steps.p[i].peak : peak;
            end = f->steps.p[i].live_end > end ? f->steps.p[i].live_end : end;
        }
        mt_putf(o,
                "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" width=\"%" PRIu32 "\" height=\"%" PRIu32
                "\" fill=\"%s\"/>",
                x, y_of(&y, peak), wide - gap, TOP + HEIGHT - y_of(&y, peak), mt_color_hex(5));
        mt_putf(o,
                "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" width=\"%" PRIu32 "\" height=\"%" PRIu32
                "\" fill=\"%s\"/>\n",
                x, y_of(&y, end), wide - gap, TOP + HEIGHT - y_of(&y, end), mt_color_hex(2));
    }
    mt_putf(
        o, "<text x=\"%d\" y=\"%d\">step 1 to %" PRIu32 "</text>\n</svg></div>\n<p class=\"note\">",
        LEFT, TOP + HEIGHT + 18, n);
    mt_h_swatch(o, 5);
    mt_puts(o, "peak of the step, ");
    mt_h_swatch(o, 2);
    mt_puts(o, "live at its end.</p>\n");
    mt_h_help(o, "One bar is one step of the training loop. Ends that rise from step to step are "
                 "memory that the loop never gives back; "
                 "where something grows steadily, the table below names it.");
}

/* The last step over the one before it, where something grows. */
static void laps(const struct mt_role_facts *f, struct mt_out *o)
{
    const char *label = f->growth.p[0].label;
    char which[2][32], size[2][32], said[192];
    struct mt_two two = {.what = "Live memory of two steps",
                         .x_from = "the beginning of each step"};
    for (unsigned i = 0; i < 2; i++) {
        const struct mt_lap *lap = &f->laps.p[i];
        (void)snprintf(which[i], sizeof which[i], "step %" PRIu32, lap->step + 1);
        two.which[i] = which[i];
        two.run[i] = (struct mt_two_curve){.name = i == 0 ? "the one before" : "the last whole one",
                                           .live = lap->live,
                                           .n = lap->n,
                                           .span = lap->events,
                                           .peak = lap->peak,
                                           .part = lap->grown};
        (void)mt_fmt_bytes(size[i], lap->grown_end);
    }
    mt_puts(o, "<h3>The last step over the one before</h3>\n<div class=\"scroll laps\" "
               "tabindex=\"0\" role=\"group\" aria-label=\"The last step over the one before\">");
    mt_svg_two(o, &two);
    mt_puts(o, "</div>\n<p class=\"note lap\">");
    mt_h_swatch(o, mt_two_part_color);
    mt_h_name(o, label, strlen(label));
    (void)snprintf(said, sizeof said,
                   " holds %s at the end of %s (dashed) and %s at the end of %s.", size[0],
                   which[0], size[1], which[1]);
    mt_h_words(o, said, sizeof said);
    mt_puts(o, "</p>\n");
}

static void picture_and_rows(const struct mt_page *p, const struct mt_device_analysis *d,
                             struct mt_out *o)
{
    if (d == p->dev && d->roles.steps.n >= 2)
        picture(&d->roles, o);
    if (d == p->dev && d->roles.laps.n == 2)
        laps(&d->roles, o);
    mt_h_rows(o, p, mt_section_steps, d);
}

static char *words(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    char n[32];
    (void)snprintf(buf, cap, "%s steps", mt_fmt_count(n, d->roles.n_steps_all));
    return buf;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, mt_section_steps, picture_and_rows, words);
}

const struct mt_panel mt_panel_steps = {"steps", "From step to step", has, draw};
