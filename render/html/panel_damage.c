/* What is missing, and where: before any number is believed. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"
#include "render/view/rows.h"

#include <inttypes.h>

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->quality.damaged || mt_report_same_job(p->r) != NULL;
}

/* Two jobs given together: before anybody takes them for the ranks of one. */
static void draw_jobs(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_same_job *j = p->r->diagnosis->same_job;
    if (mt_report_same_job(p->r) == NULL)
        return;
    mt_puts(o, "<aside class=\"damage\" id=\"jobs\" role=\"note\" aria-labelledby=\"h-jobs\">\n"
               "<h2 id=\"h-jobs\">");
    mt_puts(o, j->sentence != NULL    ? "More than one job"
               : j->elsewhere != NULL ? "The rank that failed is not here"
                                      : "That card is not this one");
    mt_puts(o, "</h2>\n<p>");
    mt_h_words(o, mt_report_same_job(p->r), 4000);
    mt_puts(o, "</p>\n</aside>\n");
}

static void put_input(const struct mt_page *p, struct mt_out *o, const struct mt_trace *t)
{
    const struct mt_meta *m = &t->meta;
    if (p->r->diagnosis->ranks.n < 2 && p->r->diagnosis->driver == NULL)
        return;
    mt_puts(o, "<b>");
    mt_h_name(o, m->member != NULL ? m->member : m->input, 200);
    mt_puts(o, "</b>: ");
}

static void put_trace(const struct mt_page *p, struct mt_out *o, const struct mt_trace *t)
{
    uint32_t n = 0;
    if (!t->damaged)
        return;
    for (uint32_t k = 0; k < t->diags.n; k++) {
        const struct mt_diag *d = &t->diags.p[k];
        if (d->level != MT_DIAG_DAMAGE)
            continue;
        n++;
        mt_puts(o, "<li>");
        put_input(p, o, t);
        mt_h_text(o, mt_str(t, d->text), 1000);
        if (d->has_offset)
            mt_putf(o, " <small>(offset %" PRIu64 ")</small>", d->offset);
        mt_puts(o, "</li>\n");
    }
    if (n == 0) {
        mt_puts(o, "<li>");
        put_input(p, o, t);
        mt_puts(o, "damaged; see the data quality section</li>\n");
    }
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_report *r = p->r;
    const struct mt_skipped *s = r->diagnosis->skipped;
    draw_jobs(p, o);
    if (!r->diagnosis->quality.damaged)
        return;
    mt_puts(o, "<aside class=\"damage\" id=\"damage\" role=\"note\" aria-labelledby=\"h-damage\">\n"
               "<h2 id=\"h-damage\">This report is made from incomplete input</h2>\n"
               "<p>Everything that was whole is used; what follows is missing from the numbers "
               "below.</p>\n<ul>\n");
    for (uint32_t i = 0; s != NULL && i < s->unread.n; i++) {
        mt_puts(o, "<li>Not read: <b>");
        mt_h_name(o, s->unread.p[i].name, 300);
        mt_puts(o, "</b>: ");
        mt_h_text(o, s->unread.p[i].message, 1000);
        mt_puts(o, "</li>\n");
    }
    for (uint32_t i = 0; r->diagnosis->driver != NULL && i < r->diagnosis->driver->drivers.n; i++)
        put_trace(p, o, r->diagnosis->driver->drivers.p[i]);
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        put_trace(p, o, r->diagnosis->ranks.p[i].trace);
    mt_puts(o, "</ul>\n</aside>\n");
}

const struct mt_panel mt_panel_damage = {"damage", NULL, has, draw};
