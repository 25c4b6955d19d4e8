/* The answer: one sentence, and the card as a bar; without one, the sentences behind it. */
#include "render/base/escape.h"
#include "render/html/card.h"
#include "render/html/strip.h"
#include "render/html/words.h"
#include "render/view/driver.h"
#include "render/view/rows.h"
#include "render/view/run.h"

static bool has(const struct mt_page *p)
{
    return p->rank != NULL || p->r->diagnosis->driver != NULL || p->r->diagnosis->logdiag != NULL;
}

static bool is_failure(const struct mt_diagnosis *d)
{
    switch (mt_diagnosis_lead(d)) {
    case MT_LEAD_LOG:
        return d->logdiag->cause != MT_CAUSE_NONE && d->logdiag->cause != MT_CAUSE_SETTING;
    case MT_LEAD_DRIVER: return mt_driver_failed(d->driver);
    case MT_LEAD_SNAPSHOT: return mt_verdict_is_oom(mt_diagnosis_rank(d)->analysis->verdict.kind);
    case MT_LEAD_NOTHING: break;
    }
    return false;
}

static void sentences(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_diagnosis *d = p->r->diagnosis;
    mt_putf(o, "<header class=\"hero%s\" id=\"verdict\">\n", is_failure(d) ? " oom" : "");
    mt_h_rows(o, p, mt_section_headline, NULL);
    if (mt_h_has_card(p)) {
        mt_h_card(p, o);
        mt_h_strip(p, o);
        mt_h_rows(o, p, mt_section_rest, NULL);
    } else {
        mt_h_rows(o, p, mt_section_rest, NULL);
        mt_h_rows(o, p, mt_section_because, NULL);
        mt_h_rows(o, p, mt_section_asked, NULL);
    }
    if (mt_diagnosis_lead(d) == MT_LEAD_LOG)
        mt_putf(o, "<p class=\"where\">From the log%s; confidence %s</p>\n",
                mt_report_second(p->r) == NULL ? " alone" : "", d->logdiag->confidence);
}

static bool trains(const struct mt_analysis *a)
{
    for (uint32_t i = 0; i < a->devices.n; i++)
        for (uint32_t k = 0; k < a->devices.p[i].phases.n; k++)
            if (mt_phase_is(a->devices.p[i].phases.p[k].phase, MT_TRAINS))
                return true;
    return false;
}

static void where(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_analysis *a = p->rank->analysis;
    bool engine_alone;
    char place[256];
    mt_puts(o, "<p class=\"where\">");
    if (p->dev != NULL && mt_diagnosis_lead(p->r->diagnosis) != MT_LEAD_DRIVER &&
        mt_page_has_timeline(p)) {
        mt_puts(o, "<span class=\"go\">");
        mt_h_event(o, p, p->dev->focus.event, "Show it in the timeline");
        mt_puts(o, " \xc2\xb7 ");
        if (p->dev->focus_is_oom && p->dev->peak_event != p->dev->focus.event &&
            p->dev->peak_event != MT_NO_EVENT) {
            mt_h_event(o, p, p->dev->peak_event, "its peak");
            mt_puts(o, " \xc2\xb7 ");
        }
        mt_puts(o, "</span>");
    }
    if (p->dev != NULL) {
        mt_h_name(o, mt_row_place(p->r, p->rank, p->dev, place, sizeof place), 200);
        mt_puts(o, " \xc2\xb7 ");
    }
    engine_alone =
        !a->fw.forced && a->fw.main == MT_FW_NONE && a->fw.engine != MT_FW_NONE && !trains(a);
    mt_html_s(o, mt_framework_at(a->fw.rules, engine_alone ? a->fw.engine : a->fw.main)->words);
    if (a->fw.engine != MT_FW_NONE && a->fw.engine != a->fw.main && !engine_alone) {
        mt_puts(o, " with ");
        mt_html_s(o, mt_framework_at(a->fw.rules, a->fw.engine)->words);
    }
    mt_puts(o, a->fw.forced        ? " (as named on the command line)</p>\n"
               : a->fw.by_settings ? " (by the settings or logs of the run)</p>\n"
               : a->fw.main != MT_FW_NONE || engine_alone ? " (by its frames)</p>\n"
                                                          : "</p>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    sentences(p, o);
    if (p->rank != NULL)
        where(p, o);
    mt_h_words_meant(p, o);
    mt_puts(o, "</header>\n");
}

const struct mt_panel mt_panel_verdict = {"verdict", NULL, has, draw};
