/* The answer: one sentence, the numbers behind it, and what to change first. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"
#include "render/view/rows.h"
#include "render/view/run.h"
#include "render/svg/stack.h"

#include <stdio.h>

enum { SAVING_HEIGHT = 8, AFTER_HEIGHT = 14, SAVED = 4 /* the green of the palette */ };

static bool has(const struct mt_page *p)
{
    return p->rank != NULL || p->r->diagnosis->driver != NULL || p->r->diagnosis->logdiag != NULL;
}

static bool is_failure(const struct mt_diagnosis *d)
{
    switch (mt_diagnosis_lead(d)) {
    case MT_LEAD_LOG:
        return d->logdiag->cause != MT_CAUSE_NONE && d->logdiag->cause != MT_CAUSE_SETTING;
    case MT_LEAD_DRIVER: return d->driver->kind == MT_V_OOM;
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

/* What it takes off, as a part of what was needed. */
static void bar(const struct mt_page *p, struct mt_out *o, const struct mt_saving *v)
{
    struct mt_stack_bar b;
    char words[MT_SAVING_WORDS];
    if (!v->known || p->dev == NULL || mt_needed(p->dev) == 0)
        return;
    mt_stack_open(&b, o, mt_needed(p->dev), SAVING_HEIGHT, mt_saving_words(words, v));
    mt_stack_part(&b, v->bytes, mt_color_hex(SAVED), "freed");
    if (mt_needed(p->dev) > v->bytes)
        mt_stack_gap(&b, mt_needed(p->dev) - v->bytes, "the rest of what was needed");
    mt_stack_close(&b);
    mt_putc(o, '\n');
}

static void bar_row(struct mt_out *o, const char *name, uint64_t held, uint64_t request,
                    uint64_t whole, uint64_t limit)
{
    char words[32];
    struct mt_stack_bar b;
    mt_putf(o, "<div><dt>%s</dt><dd>", name);
    mt_stack_open(&b, o, whole, AFTER_HEIGHT, mt_fmt_bytes(words, held + request));
    mt_stack_part(&b, held, mt_color_hex(5), "held");
    mt_stack_failed(&b, request, "the request");
    if (limit != 0)
        mt_stack_line(&b, limit);
    mt_stack_close(&b);
    mt_putf(o, " <span>%s</span></dd></div>\n", mt_fmt_bytes(words, held + request));
}

/* What was needed then, and what would be needed with the settings, beside what there was. */
static void after(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_combined *c = &p->rank->analysis->combined;
    const struct mt_device_analysis *d = p->dev;
    uint64_t request = d->focus_is_oom && d->ooms.n != 0 ? d->ooms.p[0].request : 0,
             need = mt_needed(d), left, limit, saved;
    char words[32];
    if (c->sentence == NULL || c->sentence[0] == '\0')
        return;
    mt_puts(o, "<div class=\"after\"><p><strong>");
    mt_h_words(o, c->sentence, 1000);
    mt_puts(o, "</strong></p>\n");
    saved = c->saving.bytes < need ? c->saving.bytes : need;
    left = need - saved;
    limit = request != 0 ? need - request + d->ooms.p[0].device_free : 0;
    /* bytes alone do not decide it: holes do */
    if (!c->saving.known || (c->fits_known && c->fits != (left <= limit))) {
        mt_puts(o, "</div>\n");
        return;
    }
    mt_puts(o, "<dl class=\"bars\">\n");
    bar_row(o, request != 0 ? "Needed then" : "Held then", need - request, request, need, limit);
    bar_row(o, c->n == 1 ? "With this setting" : "With these settings", left, 0, need,
            limit); /* some shrink the request too */
    mt_puts(o, "</dl>\n");
    if (limit != 0)
        mt_putf(
            o,
            "<p class=\"note\">Blue: what was reserved, holes included. Red: the request that "
            "failed. The line: %s, what was reserved here and what was free on the device.</p>\n",
            mt_fmt_bytes(words, limit));
    mt_puts(o, "</div>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_advice *list;
    uint32_t n = 0, n_list;
    sentences(p, o);
    if (p->rank != NULL)
        where(p, o);
    list = mt_diagnosis_advice(p->r->diagnosis, &n_list);
    for (uint32_t i = 0; i < n_list; i++) {
        const struct mt_advice *d = &list[i];
        if (!d->is_top)
            continue;
        if (n++ == 0)
            mt_putf(o, "<h2 id=\"first\">%s</h2>\n<ol class=\"first\" aria-labelledby=\"first\">\n",
                    mt_report_first(p->r));
        mt_puts(o, "<li><h3>");
        mt_h_words(o, d->card->title, SIZE_MAX);
        mt_puts(o, "</h3>\n");
        mt_h_settings(o, d);
        mt_h_advice_rows(o, p, mt_section_first_card, d);
        bar(p, o, &d->saving);
        mt_puts(o, "</li>\n");
    }
    if (n > 0)
        mt_puts(o, "</ol>\n");
    if (n > 0 && p->rank != NULL && p->dev != NULL &&
        mt_diagnosis_combined(p->r->diagnosis) != NULL)
        after(p, o);
    mt_h_rows(o, p, mt_section_beside, NULL);
    mt_puts(o, "</header>\n");
}

const struct mt_panel mt_panel_verdict = {"verdict", NULL, has, draw};
