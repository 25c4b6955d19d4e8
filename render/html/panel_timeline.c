/* Memory over time of the verdict's device. */
#include "render/view/asked.h"
#include "render/html/assets.h"
#include "render/html/kit.h"
#include "render/html/page_index.h"
#include "render/view/rows.h"
#include "render/svg/one_clock.h"
#include "render/svg/ledger.h"
#include "render/svg/timeline.h"
#include "render/view/story.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* True when waiting takes so much of the time axis that the work is squeezed into a few columns: a
 * second picture, one step per event, then shows it. */
static bool is_squeezed(const struct mt_device_analysis *d)
{
    const struct mt_timeline *t = &d->timeline;
    uint32_t idle = 0;
    for (uint32_t c = 0; c < t->n_columns; c++)
        idle += t->events[c] == 0;
    return d->by_event.n_columns > 1 && idle * 2 > t->n_columns;
}

static void picture(const struct mt_page *p, struct mt_out *o, const struct mt_timeline *tl,
                    unsigned id)
{
    char what[256];
    struct mt_svg s = {.dev = p->dev, .tl = tl, .id = id};
    s.what = mt_row_place(p->r, p->rank, p->dev, what, sizeof what);
    mt_putf(o,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Memory over %s\">\n",
            tl->has_time ? "time" : "events");
    mt_svg_timeline(o, &s);
    mt_puts(o, "</div>\n");
}

static bool is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

/* A device that has a history, and one of these. */
static bool track_has(const struct mt_page *p, const struct mt_track_plan *t, const char *word,
                      size_t n)
{
    const struct mt_pack *k = t->pack;
    const struct mt_device_analysis *d =
        &p->r->diagnosis->ranks.p[t->rank].analysis->devices.p[t->device];
    struct mt_asked a;
    uint32_t ledger;
    for (uint32_t i = 0; is(word, n, "foreign") && i < d->ooms.n; i++)
        if (mt_asked_of(&a, d, &d->ooms.p[i]) && a.stacked && a.foreign != 0)
            return true;
    if (is(word, n, "segments"))
        return t->addresses && t->n_exact != 0 && !p->dev->sums_only;
    return is(word, n, "owner")  ? k->has_time && mt_page_ledger(p, t, &ledger)
           : is(word, n, "time") ? k->has_time
           : is(word, n, "oom") || is(word, n, "held")
               ? d->ooms.n != 0
               : is(word, n, "tracks") || (is(word, n, "next") && k->marks.n > 1);
}

/* A failed call that found more in use than recorded calls hold. */
static bool has_others(const struct mt_call_pack *c)
{
    for (uint32_t i = 0; i < c->asked.n; i++)
        if (c->asked.p[i].base > c->asked.p[i].reserved)
            return true;
    return false;
}

static bool calls_have(const struct mt_call_pack *c, const char *word, size_t n)
{
    return is(word, n, "time")     ? c->pack->has_time
           : is(word, n, "oom")    ? c->asked.n != 0
           : is(word, n, "others") ? has_others(c)
           : is(word, n, "next")   ? c->pack->marks.n > 1
                                   : is(word, n, "tracks");
}

/* True where some device has what a part of the template is for; "tracks": where there are several
 * devices. */
static bool wanted(const struct mt_page *p, const char *word, size_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->plan->track.n; i++)
        found +=
            !mt_plan_withheld(&p->plan->track.p[i]) && track_has(p, &p->plan->track.p[i], word, n);
    for (uint32_t i = 0; i < p->plan->calls.n; i++)
        found += calls_have(&p->plan->calls.p[i].calls, word, n);
    return found > (is(word, n, "tracks") ? 1 : 0);
}

/* Whose calls the i-th track of calls has. */
static void put_gpu(const struct mt_page *p, struct mt_out *o, uint32_t i)
{
    const struct mt_ledger *l =
        &p->r->diagnosis->driver->ledgers.p[p->plan->calls.p[i].calls.ledger];
    char label[512];
    mt_h_text(o, mt_h_calls_name(label, sizeof label, l), sizeof label);
}

static void put_options(const struct mt_page *p, struct mt_out *o)
{
    for (uint32_t i = 0; i < p->plan->track.n; i++) {
        const struct mt_track_plan *t = &p->plan->track.p[i];
        const struct mt_rank *rank = &p->r->diagnosis->ranks.p[t->rank];
        if (mt_plan_withheld(t))
            continue;
        mt_putf(o, "<option value=\"%" PRIu32 "\">", i);
        mt_h_place(o, p, rank, &rank->analysis->devices.p[t->device]);
        mt_puts(o, "</option>");
    }
    for (uint32_t i = 0; i < p->plan->calls.n; i++) {
        mt_putf(o, "<option value=\"%" PRIu32 "\">", p->plan->track.n + i);
        put_gpu(p, o, i);
        mt_puts(o, "</option>");
    }
}

/* What the script puts around its picture, asleep until then: without it there is no dead control.
 * {{?what}} begins a part for recordings that have such a thing, {{}} ends it. */
static void put_controls(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_asset *a = mt_template_find("report.timeline.html");
    const char *s = a != NULL ? (const char *)a->data : "", *open, *close;
    bool on = true;
    for (; (open = strstr(s, "{{")) != NULL && (close = strstr(open, "}}")) != NULL;
         s = close + 2) {
        if (on)
            mt_put(o, s, (size_t)(open - s));
        open += 2;
        if (open == close)
            on = true;
        else if (*open == '?')
            on = wanted(p, open + 1, (size_t)(close - open - 1));
        else if (on && is(open, (size_t)(close - open), "options"))
            put_options(p, o);
        else if (on && mt_page_has_calls(p))
            put_gpu(p, o, 0);
        else if (on)
            mt_h_place(o, p, p->rank, p->dev);
    }
    mt_puts(o, s);
}

/* The failure in steps: the flags of the picture carry their numbers. */
static void story(const struct mt_page *p, struct mt_out *o)
{
    struct mt_story s;
    mt_story_of(&s, p->dev);
    if (s.n == 0)
        return;
    mt_puts(o, "<ol class=\"story\" aria-label=\"The failure, step by step\">\n");
    for (unsigned i = 0; i < s.n; i++) {
        mt_puts(o, "<li>");
        mt_h_words(o, s.step[i].words, SIZE_MAX);
        mt_h_when(o, p, " ", s.step[i].event, s.step[i].event);
        mt_puts(o, "</li>\n");
    }
    mt_puts(o, "</ol>\n");
}

/* How the picture is read; the dashed line is there where something was reserved. */
static void help(const struct mt_page *p, struct mt_out *o)
{
    static const char lead[] =
        "Each column is one moment, the highest of its stretch, so that no peak is lost "
        "between columns. Stacked are the bytes that were live, by colour: what they are "
        "for, or what the buttons above the picture choose. ";
    static const char dashed[] =
        "Dashed: what PyTorch had reserved from the driver; between the two lies memory that is "
        "held and not in use. ";
    static const char marks[] =
        "The band below names the phase that ran. A triangle marks the peak; "
        "red marks a request that failed: hatched, it stands on what was live, what PyTorch "
        "held beside that (pale) and, where the capacity is known, what was in use outside "
        "PyTorch (lined); the short line is where the device ends. What those two moments "
        "show is never less than a few pixels wide, unless what lies beside it is higher.";
    char text[sizeof lead + sizeof dashed + sizeof marks];
    (void)snprintf(text, sizeof text, "%s%s%s", lead, mt_reserved_unknown(p->dev) ? "" : dashed,
                   marks);
    mt_h_help(o, text);
}

static bool has(const struct mt_page *p) { return mt_page_has_timeline(p) || mt_page_has_calls(p); }

/* What else was recorded on their clock; the script shows the part of it that its own picture
 * shows. */
static void beside(const struct mt_page *p, struct mt_out *o, uint32_t ledger)
{
    struct mt_out svg;
    bool ok = mt_out_mem(&svg);
    if (ok)
        mt_svg_one_clock(&svg, p->r, ledger);
    if (!ok || mt_out_finish(&svg) != 0) {
        o->error = o->error != 0 ? o->error : ENOMEM;
    } else if (svg.used != 0) {
        mt_puts(o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                   "aria-label=\"What else was recorded, on the same clock\">\n");
        mt_put(o, svg.buf, svg.used);
        mt_puts(o, "</div>\n");
    }
    mt_out_done(&svg);
}

/* Who held the GPU by the driver's calls, where no snapshot tells more. */
static void draw_calls(const struct mt_page *p, struct mt_out *o)
{
    struct mt_svg_ledger s = {p->r->diagnosis->driver, p->plan->calls.p[0].calls.ledger, false};
    mt_puts(o, "<div class=\"tl-room\">\n");
    put_controls(p, o);
    mt_puts(o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
               "aria-label=\"Memory of a GPU over time\">\n");
    mt_svg_ledger(o, &s);
    mt_puts(o, "</div>\n</div>\n");
    beside(p, o, s.ledger);
    mt_h_help(o, "Stacked is what each owner held by its recorded calls, call by call; the line is "
                 "what the device itself reported as used. Between the two: other processes, and "
                 "what no call explains. Red marks a call that failed: hatched, it stands on what "
                 "was in use; the short line is where the device ends. Ranges of NVTX lie below "
                 "the band of phases.");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    if (!mt_page_has_timeline(p)) {
        draw_calls(p, o);
        return;
    }
    mt_puts(o, "<div class=\"tl-room\">\n");
    put_controls(p, o);
    if (is_squeezed(p->dev)) {
        mt_puts(o, "<p class=\"note\">One step per event: most of the time nothing was allocated, "
                   "and on a time axis the work "
                   "takes a few pixels.</p>\n");
        picture(p, o, &p->dev->by_event, MT_SVG_BY_EVENT_ID);
        mt_puts(o, "<details class=\"more\"><summary>The same over time</summary>\n");
        picture(p, o, &p->dev->timeline, 0);
        mt_puts(o, "</details>\n");
    } else {
        picture(p, o, &p->dev->timeline, 0);
    }
    mt_puts(o, "</div>\n");
    story(p, o);
    help(p, o);
}

const struct mt_panel mt_panel_timeline = {"timeline", "Memory over time", has, draw};
