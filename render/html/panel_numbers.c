/* The few numbers that the verdict stands on. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/rows.h"

#include <stdio.h>

static bool has(const struct mt_page *p) { return p->dev != NULL; }

static void bytes(struct mt_out *o, const char *name, uint64_t value, const char *note)
{
    char b[32];
    mt_h_def(o, name, mt_fmt_bytes(b, value), note);
}

/* Whose note begins with the moment, which the timeline can show. */
static void moment(const struct mt_page *p, struct mt_out *o, const char *name, const char *value,
                   int64_t event, const char *rest)
{
    char when[MT_WORDS];
    mt_putf(o, "<div><dt>%s</dt><dd>%s <small>", name, value);
    mt_h_event(o, p, event, mt_event_words(when, event));
    mt_html_s(o, rest);
    mt_puts(o, "</small></dd></div>\n");
}

static void oom(const struct mt_page *p, struct mt_out *o, const struct mt_device_analysis *d,
                const struct mt_oom *m)
{
    char b[40], note[128], when[MT_WORDS];
    moment(p, o, "Request that failed", mt_row_request(b, m), (int64_t)m->event,
           d->ooms.n > 1 ? ", the first that failed" : "");
    bytes(o, "Free on the device", m->device_free, "at that moment");
    if (d->withheld != NULL)
        return;
    if (m->at.holes_known) {
        (void)snprintf(note, sizeof note, "%s in %s holes that could serve the request",
                       mt_fmt_bytes(b, m->at.free_usable), mt_fmt_count(when, m->at.n_holes));
        bytes(o, "Largest usable hole", m->at.largest_usable, note);
    }
}

/* At the moment that matters. */
static void held(struct mt_out *o, const struct mt_device_analysis *d, const char *at, bool curve)
{
    char b[32], name[64], note[64];
    if (!curve || d->focus_is_oom) {
        (void)snprintf(name, sizeof name, "Live %s", at);
        (void)snprintf(note, sizeof note, "%s blocks", mt_fmt_count(b, d->focus.n_blocks));
        bytes(o, name, d->focus.live, d->focus.n_blocks != 0 ? note : NULL);
    }
    (void)snprintf(name, sizeof name, "Reserved %s", at);
    (void)snprintf(note, sizeof note, "%s at its highest", mt_fmt_bytes(b, d->reserved_peak));
    bytes(o, name, d->focus.reserved, curve ? note : NULL);
    (void)snprintf(note, sizeof note, "%s of what is reserved",
                   mt_fmt_percent(b, d->focus.reserved_free, d->focus.reserved));
    bytes(o, "Reserved but free", d->focus.reserved_free, note);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_device_analysis *d = p->dev;
    const char *at = mt_focus_words(d);
    const struct mt_device_analysis *pinned = mt_row_pinned(p->rank, d);
    char b[40], c[40], note[MT_WORDS + 64];
    bool curve = d->withheld == NULL && !d->end_state_only;
    uint64_t unknown = 0;
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (d->phases.p[i].phase == MT_PH_UNATTRIBUTED && d->phases.p[i].sub == MT_PH_NONE)
            unknown += d->phases.p[i].at_focus;
    mt_puts(o, "<dl class=\"cards\">\n");
    if (d->focus_is_oom && p->rank->analysis->verdict.oom < d->ooms.n)
        oom(p, o, d, &d->ooms.p[p->rank->analysis->verdict.oom]);
    if (curve) {
        (void)snprintf(note, sizeof note, " of %s", mt_fmt_count(b, d->n_events));
        moment(p, o, "Peak live", mt_fmt_bytes(c, d->live_peak), d->peak_event, note);
    }
    if (mt_state_unknown(d))
        mt_h_def(o, "Live and reserved", "not known",
                 "the snapshot lists no segments of this device");
    else
        held(o, d, at, curve);
    if (pinned != NULL) {
        (void)snprintf(note, sizeof note, "on the host%s, %s of it reserved",
                       mt_row_has_peak(pinned) ? ", at its highest" : "",
                       mt_row_reserved(b, pinned));
        mt_h_def(o, "Pinned host memory", mt_row_live(c, pinned), note);
    }
    if (d->capacity != 0) {
        (void)snprintf(note, sizeof note, "%s of it live %s",
                       mt_fmt_percent(b, d->focus.live, d->capacity), at);
        bytes(o, "Capacity", d->capacity, note);
    } else if (d->kind == MT_DEV_CUDA) {
        mt_h_def(o, "Capacity", "unknown",
                 "a snapshot does not hold it; name it with --capacity 80GiB");
    }
    if (curve) {
        (void)snprintf(note, sizeof note, "%s at the start", mt_fmt_bytes(b, d->live_start));
        bytes(o, "Live at the end", d->live_end, note);
    }
    if (d->pending_peak > d->live_peak / 1000 && curve) {
        (void)snprintf(note, sizeof note,
                       "at most: freed, and another stream may still use it; %s at the end",
                       mt_fmt_bytes(b, d->pending_end));
        bytes(o, "Waiting to be freed", d->pending_peak, note);
    } else if (!curve && d->pending_end != 0) {
        bytes(o, "Waiting to be freed", d->pending_end, "until other streams are done with it");
    }
    if (d->rounding_loss != 0)
        bytes(o, "Lost to rounding", d->rounding_loss, "in the blocks that were live at the dump");
    if (d->n_allocs != 0) {
        (void)snprintf(note, sizeof note, "%s over the trace", mt_fmt_bytes(b, d->alloc_bytes));
        mt_h_def(o, "Allocations", mt_fmt_count(c, d->n_allocs), note);
    }
    if (d->n_events > 1 && d->first_ns != 0 && d->last_ns > d->first_ns) {
        char utc[40];
        (void)snprintf(note, sizeof note, "from %s", mt_fmt_utc(utc, d->first_ns));
        mt_h_def(o, "Recorded", mt_fmt_seconds(c, d->last_ns - d->first_ns), note);
    }
    if (mt_state_unknown(d)) {
        mt_puts(o, "</dl>\n");
        return;
    }
    (void)snprintf(note, sizeof note, "of what is live %s%s%s", at,
                   d->alloc_bytes != 0 ? "; of what was allocated " : "",
                   d->alloc_bytes != 0 ? mt_fmt_percent(b, d->unattributed_bytes, d->alloc_bytes)
                                       : "");
    mt_h_def(o, "Phase unknown", mt_fmt_percent(c, unknown, d->focus.live), note);
    mt_puts(o, "</dl>\n");
}

const struct mt_panel mt_panel_numbers = {"numbers", "The numbers", has, draw};
