/* The few numbers that the verdict stands on. */
#include "render/sections/impl.h"

#include "render/view/rows.h"

#include <stdio.h>

static const char *const at_event = "<div><dt>{0}</dt><dd>{1} <small>{2:a}[, {3}]</small></dd>"
                                    "</div>\n";

static void put(struct mt_sink *k, const char *name, struct mt_datum value, struct mt_datum moment,
                const char *note)
{
    MT_DATA(k, "  {0:<22} |{1}[, {2}][ ({3})]", "| {0} | {1}[, {2}][ ({3})] |\n",
            moment.words != NULL ? at_event
                                 : "<div><dt>{0}</dt><dd>{1}[ <small>{3:w}</small>]</dd></div>\n",
            mt_as_words(name), value, moment, mt_as_words(note));
}

static void number(struct mt_sink *k, const char *name, struct mt_datum value, const char *note)
{
    put(k, name, value, mt_as_words(NULL), note);
}

/* "event 3,737 of 22,331", "before the first event" */
static struct mt_datum moment_of(char words[2 * MT_WORDS], const struct mt_device_analysis *d,
                                 int64_t event)
{
    char when[MT_WORDS];
    if (event < 0)
        (void)snprintf(words, 2 * MT_WORDS, "before the first event");
    else
        (void)snprintf(words, 2 * MT_WORDS, "%s of %s", mt_event_words(when, event),
                       MT_COUNT(d->n_events));
    return mt_at(mt_as_words(words), event);
}

static void request(struct mt_sink *k, const struct mt_device_analysis *d, const struct mt_oom *m)
{
    char b[40], note[128], when[2 * MT_WORDS];
    (void)snprintf(note, sizeof note,
                   MT_FIRST_COUNTS(d) ? "the first of %u that failed"
                                      : "of %u that failed: after those before it the program went "
                                        "on",
                   (unsigned)d->ooms.n);
    put(k, "Request that failed", mt_as_words(mt_row_request(b, m)),
        moment_of(when, d, (int64_t)m->event), d->ooms.n > 1 ? note : NULL);
    if (!d->sums_only)
        number(k, "Free on the device", mt_as_bytes(m->device_free), "at that moment");
    if (d->withheld != NULL || !m->at.holes_known)
        return;
    (void)snprintf(note, sizeof note, "%s in %s hole%s that could serve the request",
                   MT_BYTES(m->at.free_usable), MT_COUNT(m->at.n_holes), mt_plural(m->at.n_holes));
    number(k, "Largest usable hole",
           mt_known(m->at.n_holes != 0, mt_as_bytes(m->at.largest_usable), "none"),
           m->at.n_holes != 0 ? note : NULL);
}

/* At the moment that matters. */
static void held(struct mt_sink *k, const struct mt_device_analysis *d, bool curve)
{
    const char *at = mt_focus_words(d);
    char name[64], note[128];
    if (!curve || d->focus_is_oom) {
        (void)snprintf(name, sizeof name, "Live %s", at);
        (void)snprintf(note, sizeof note, "%s block%s", MT_COUNT(d->focus.n_blocks),
                       mt_plural(d->focus.n_blocks));
        number(k, name, mt_as_bytes(d->focus.live), d->focus.n_blocks != 0 ? note : NULL);
    }
    (void)snprintf(name, sizeof name, "Reserved %s", at);
    (void)snprintf(note, sizeof note, "%s at its highest, %s at the end",
                   MT_BYTES(d->reserved_peak), MT_BYTES(d->reserved_end));
    if (mt_reserved_unknown(d)) {
        number(k, name, mt_as_words("not recorded"), NULL);
        return;
    }
    number(k, name, mt_as_bytes(d->focus.reserved), curve ? note : NULL);
    (void)snprintf(note, sizeof note, "%s of what is reserved",
                   MT_SHARE(d->focus.reserved_free, d->focus.reserved));
    number(k, "Reserved but free", mt_as_bytes(d->focus.reserved_free), note);
}

static void pinned(struct mt_sink *k, const struct mt_device_analysis *d)
{
    char live[40], reserved[40], note[128];
    if (d == NULL)
        return;
    (void)snprintf(note, sizeof note, "on the host%s, %s of it reserved",
                   mt_row_has_peak(d) ? ", at its highest" : "", mt_row_reserved(reserved, d));
    number(k, "Pinned host memory", mt_as_words(mt_row_live(live, d)), note);
}

static void capacity(struct mt_sink *k, const struct mt_device_analysis *d)
{
    char note[128];
    (void)snprintf(note, sizeof note, "%s of it live %s", MT_SHARE(d->focus.live, d->capacity),
                   mt_focus_words(d));
    if (d->capacity != 0)
        number(k, "Capacity", mt_as_bytes(d->capacity), note);
    else if (d->kind == MT_DEV_CUDA)
        number(k, "Capacity", mt_as_words("unknown"),
               "the recording does not hold it; name it with --capacity 80GiB");
}

static void waiting(struct mt_sink *k, const struct mt_device_analysis *d, bool curve)
{
    char note[128];
    (void)snprintf(note, sizeof note,
                   "at most: freed, and another stream may still use it; %s at the end",
                   MT_BYTES(d->pending_end));
    if (curve && d->pending_peak > d->live_peak / 1000)
        number(k, "Waiting to be freed", mt_as_bytes(d->pending_peak), note);
    else if (!curve && d->pending_end != 0)
        number(k, "Waiting to be freed", mt_as_bytes(d->pending_end),
               "until other streams are done with it");
}

/* What was recorded, and how much of it is of no known phase. */
static void recorded(struct mt_sink *k, const struct mt_device_analysis *d)
{
    char note[128], utc[40];
    uint64_t unknown = 0;
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (d->phases.p[i].phase == MT_PH_UNATTRIBUTED && d->phases.p[i].sub == MT_PH_NONE)
            unknown += d->phases.p[i].at_focus;
    if (d->rounding_loss != 0)
        number(k, "Lost to rounding", mt_as_bytes(d->rounding_loss),
               "in the blocks that were live at the dump");
    (void)snprintf(note, sizeof note, "%s over the trace", MT_BYTES(d->alloc_bytes));
    if (d->n_allocs != 0)
        number(k, "Allocations", mt_as_count(d->n_allocs), note);
    if (d->n_events > 1 && d->first_ns != 0 && d->last_ns > d->first_ns) {
        (void)snprintf(note, sizeof note, "from %s", mt_fmt_utc(utc, d->first_ns));
        number(k, "Recorded", mt_as_words(MT_SECONDS(d->last_ns - d->first_ns)), note);
    }
    if (mt_state_unknown(d))
        return;
    (void)snprintf(note, sizeof note, "of what is live %s%s%s", mt_focus_words(d),
                   d->alloc_bytes != 0 ? "; of what was allocated " : "",
                   d->alloc_bytes != 0 ? MT_SHARE(d->unattributed_bytes, d->alloc_bytes) : "");
    number(k, "Phase unknown", mt_as_words(MT_SHARE(unknown, d->focus.live)), note);
}

static void curve_of(struct mt_sink *k, const struct mt_device_analysis *d)
{
    const struct mt_timeline *t =
        d->by_event.n_columns != 0 ? &d->by_event : &d->timeline; /* no room for waiting */
    uint64_t top = d->reserved_peak > d->live_peak ? d->reserved_peak : d->live_peak;
    if (k->curve == NULL || t->n_columns < 2 || top == 0)
        return;
    mt_heading(k, t->has_time ? "Live memory over time" : "Live memory over events", NULL);
    k->curve(k, &(struct mt_curve){t->total, NULL, t->n_columns, top,
                                   t->has_time ? t->x1 - t->x0 : t->x1, t->has_time});
}

void mt_section_numbers(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_rank *rank = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_rank_device(rank);
    bool curve = d != NULL && mt_row_has_peak(d);
    char when[2 * MT_WORDS], note[64];
    if (d == NULL)
        return;
    mt_heading(k, "Numbers", NULL);
    MT_ROW0(k, NULL, "| | |\n|---|---|\n");
    MT_NOTE(k, "<dl class=\"cards\">\n");
    if (d->ooms.n != 0)
        request(
            k, d,
            &d->ooms.p[rank->analysis->verdict.oom < d->ooms.n ? rank->analysis->verdict.oom : 0]);
    if (curve)
        put(k, "Peak live", mt_as_bytes(d->live_peak), moment_of(when, d, d->peak_event), NULL);
    if (mt_state_unknown(d))
        number(k, "Live and reserved", mt_as_words("not known"),
               "the snapshot lists no segments of this device");
    else
        held(k, d, curve);
    pinned(k, mt_row_pinned(rank, d));
    capacity(k, d);
    (void)snprintf(note, sizeof note, "%s at the start", MT_BYTES(d->live_start));
    if (curve)
        number(k, "Live at the end", mt_as_bytes(d->live_end), note);
    waiting(k, d, curve);
    recorded(k, d);
    MT_NOTE(k, "</dl>\n");
    k->end(k);
    curve_of(k, d);
}
