/* export/perfetto.c -- Chrome's JSON trace event format, as ui.perfetto.dev, chrome://tracing and
 * others open it: a process for each device of each rank, counters for the bytes of each role,
 * live, pending and reserved, slices for phases, steps and annotations, and an instant event for
 * every failed request. */
#include "render/export/impl.h"

#include "render/base/escape.h"
#include "render/view/view.h"
#include "render/base/jsonw.h"

#include <stdio.h>
#include <string.h>

enum {
    TID_OOM = 1,
    TID_PHASE,
    TID_SUB,
    TID_STEP,
    TID_MICRO,
    TID_NOTE,
    N_NOTE_LANES = 8,
    MAX_NOTES = 20000
};

/* ---- one device ---- */

static int64_t counted(uint64_t bytes) { return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX; }

/* A counter holds its value until the next: only what changes is written. */
static void counter_of(struct mt_chrome *c, const struct mt_export_track *t, const char *name,
                       size_t field)
{
    uint64_t last = 0;
    bool any = false;
    for (uint32_t i = 0; i < t->points.n; i++) {
        uint64_t v;
        memcpy(&v, (const char *)&t->points.p[i] + field, sizeof v);
        if (i != 0 && v == last)
            continue;
        if (i == 0 && v == 0) { /* a role that never occurs has no track */
            for (uint32_t k = 1; k < t->points.n && !any; k++) {
                uint64_t later;
                memcpy(&later, (const char *)&t->points.p[k] + field, sizeof later);
                any = later != 0;
            }
            if (!any)
                return;
        }
        last = v;
        mt_chrome_counter(c, name, t->by_time, t->points.p[i].x, counted(v));
    }
}

static void counters(struct mt_chrome *c, const struct mt_export_track *t)
{
    char name[96];
    counter_of(c, t, "live", offsetof(struct mt_export_point, live));
    counter_of(c, t, "reserved", offsetof(struct mt_export_point, reserved));
    counter_of(c, t, "pending free", offsetof(struct mt_export_point, pending));
    for (int r = 0; r < MT_ROLE_COUNT; r++) {
        snprintf(name, sizeof name, "live: %s", mt_role_words((enum mt_role)r));
        counter_of(c, t, name,
                   offsetof(struct mt_export_point, role) + (size_t)r * sizeof(uint64_t));
    }
}

/* The x of what the analysis keeps with events and times. */
static uint64_t x_of(const struct mt_export_track *t, uint64_t event, uint64_t ns)
{
    return t->by_time ? ns : event;
}

static void phases(struct mt_chrome *c, const struct mt_export_track *t,
                   const struct mt_device_analysis *d)
{
    for (uint32_t i = 0; i < d->roles.occurrences.n; i++) {
        const struct mt_occurrence *p = &d->roles.occurrences.p[i];
        const char *name = mt_phase_words((enum mt_phase)p->phase);
        mt_chrome_open(c, "X", name, strlen(name), TID_PHASE);
        mt_chrome_ts(c, t->by_time, x_of(t, p->first, p->t0_ns));
        mt_chrome_dur(c, t->by_time, x_of(t, p->first, p->t0_ns), x_of(t, p->last, p->t1_ns));
        mt_jw_key(c->w, "args");
        mt_jw_open(c->w, '{');
        mt_jw_ku(c->w, "peak_bytes", p->peak);
        mt_jw_ku(c->w, "retained_bytes", p->retained);
        mt_jw_ku(c->w, "first_event", p->first);
        mt_jw_ku(c->w, "last_event", p->last);
        mt_jw_close(c->w, '}');
        mt_chrome_close(c);
    }
    for (uint32_t i = 0; i < t->slices.n; i++) {
        const struct mt_export_slice *s = &t->slices.p[i];
        const char *words = mt_phase_words((enum mt_phase)s->sub);
        mt_chrome_slice(c, words, strlen(words), TID_SUB, t->by_time, s->x0, s->x1);
    }
}

static void steps(struct mt_chrome *c, const struct mt_export_track *t,
                  const struct mt_device_analysis *d)
{
    char name[64];
    for (uint32_t i = 0; i < d->roles.steps.n; i++) {
        const struct mt_step *s = &d->roles.steps.p[i];
        snprintf(name, sizeof name, "step %lu%s", (unsigned long)i + 1, s->whole ? "" : " (part)");
        mt_chrome_slice(c, name, strlen(name), TID_STEP, t->by_time, x_of(t, s->first, s->t0_ns),
                        x_of(t, s->last, s->t1_ns));
    }
    for (uint32_t i = 0; i < d->roles.micros.n && !t->by_time; i++) { /* their times are not kept */
        const struct mt_micro *m = &d->roles.micros.p[i];
        snprintf(name, sizeof name, "micro-batch %lu", (unsigned long)i + 1);
        mt_chrome_slice(c, name, strlen(name), TID_MICRO, false, m->first, m->last);
    }
}

static void ooms(struct mt_chrome *c, const struct mt_export_track *t,
                 const struct mt_device_analysis *d)
{
    for (uint32_t i = 0; i < d->ooms.n; i++) {
        const struct mt_oom *m = &d->ooms.p[i];
        mt_chrome_open(c, "i", "out of memory", 13, TID_OOM);
        mt_chrome_ts(c, t->by_time, x_of(t, m->event, m->time_ns));
        mt_jw_ks(c->w, "s", "t");
        mt_jw_key(c->w, "args");
        mt_jw_open(c->w, '{');
        mt_jw_ku(c->w, "event", m->event);
        mt_jw_ku(c->w, "request_bytes", m->request);
        mt_jw_ku(c->w, "device_free_bytes", m->device_free);
        if (m->at.event != MT_NO_EVENT) {
            mt_jw_ku(c->w, "live_bytes", m->at.live);
            mt_jw_ku(c->w, "reserved_bytes", m->at.reserved);
        }
        mt_jw_ks(c->w, "phase", MT_PHASE_CELL(m->attr.phase, m->attr.sub));
        mt_jw_ks(c->w, "site", m->label);
        mt_jw_close(c->w, '}');
        mt_chrome_close(c);
    }
}

/* Annotations overlap; slices of one track must not: each takes the first lane that is free. What
 * finds none is counted. */
static void annotations(struct mt_chrome *c, const struct mt_export_track *t,
                        const struct mt_device_analysis *d, uint64_t *left_out)
{
    uint64_t ends[N_NOTE_LANES] = {0}, least, n = 0;
    char lane_name[48];
    if (!t->by_time)
        return;
    least = t->trace->ranges.n > MAX_NOTES ? (d->timeline.x1 - d->timeline.x0) / MAX_NOTES : 0;
    for (uint32_t i = 0; i < t->trace->ranges.n; i++) {
        const struct mt_range *g = &t->trace->ranges.p[i];
        uint32_t lane = 0;
        if (g->device != d->ordinal || g->t0_ns == 0 || g->t1_ns < g->t0_ns ||
            g->t0_ns < d->timeline.x0 || g->t0_ns > d->timeline.x1)
            continue;
        while (lane < N_NOTE_LANES && ends[lane] > g->t0_ns)
            lane++;
        if (lane == N_NOTE_LANES || g->t1_ns - g->t0_ns < least || n >= MAX_NOTES) {
            ++*left_out;
            continue;
        }
        if (ends[lane] == 0) {
            snprintf(lane_name, sizeof lane_name, "annotations%s", lane == 0 ? "" : " (nested)");
            mt_chrome_name(c, "thread_name", TID_NOTE + lane, lane_name);
        }
        ends[lane] = g->t1_ns;
        n++;
        mt_chrome_slice(c, mt_str(t->trace, g->name), mt_str_len(t->trace, g->name),
                        TID_NOTE + lane, true, g->t0_ns, g->t1_ns);
    }
}

struct left_out {
    uint64_t subs, notes;
    uint32_t no_curve, by_event;
};

static void device(struct mt_chrome *c, const struct mt_export_track *t,
                   const struct mt_device_analysis *d, const char *name, struct left_out *left)
{
    static const struct {
        uint32_t tid;
        const char *name;
    } threads[] = {{TID_OOM, "out of memory"},
                   {TID_PHASE, "phases"},
                   {TID_SUB, "inside the phase"},
                   {TID_STEP, "steps"},
                   {TID_MICRO, "micro-batches"}};
    mt_chrome_process(c, name);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        mt_chrome_name(c, "thread_name", threads[i].tid, threads[i].name);
    counters(c, t);
    ooms(c, t, d);
    if (t->points.n == 0) {
        left->no_curve++;
        return;
    }
    left->by_event += !t->by_time;
    left->subs += t->n_short;
    phases(c, t, d);
    steps(c, t, d);
    annotations(c, t, d, &left->notes);
}

/* ---- the file ---- */

static void earlier(uint64_t *t0, uint64_t t)
{
    if (t != 0 && t < *t0)
        *t0 = t;
}

static uint64_t first_ns(const struct mt_export *x, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint64_t t0 = UINT64_MAX;
    for (uint32_t i = 0; i < x->tracks.n; i++)
        if (x->tracks.p[i].by_time && x->tracks.p[i].points.n != 0)
            earlier(&t0, x->tracks.p[i].points.p[0].x);
    for (uint32_t i = 0; i < r->diagnosis->ranks.n;
         i++) /* a device whose curve is withheld has its failures still */
        for (uint32_t d = 0; d < r->diagnosis->ranks.p[i].analysis->devices.n; d++) {
            const struct mt_device_analysis *da = &r->diagnosis->ranks.p[i].analysis->devices.p[d];
            for (uint32_t k = 0; da->timeline.has_time && k < da->ooms.n; k++)
                earlier(&t0, da->ooms.p[k].time_ns);
        }
    for (uint32_t i = 0; j != NULL && i < j->ledgers.n; i++)
        if (j->ledgers.p[i].n_columns != 0)
            earlier(&t0, j->ledgers.p[i].t0_ns);
    for (uint32_t i = 0; j != NULL && i < j->phases.n; i++)
        earlier(&t0, j->phases.p[i].t0_ns);
    for (uint32_t i = 0; j != NULL && i < j->sleeps.n; i++)
        earlier(&t0, j->sleeps.p[i].t0_ns);
    for (uint32_t i = 0; j != NULL && i < j->ooms.n; i++)
        earlier(&t0, j->ooms.p[i].time_ns);
    return t0 != UINT64_MAX ? t0 : 0;
}

void mt_export_perfetto(const struct mt_export *x, const struct mt_report *r, struct mt_out *o)
{
    struct mt_jsonw w;
    struct mt_chrome c = {.w = &w, .t0_ns = first_ns(x, r), .pid = 0};
    struct left_out left = {0};
    char name[320], number[32];
    mt_jw_init(&w, o, false);
    mt_jw_open(&w, '{');
    mt_jw_key(&w, "traceEvents");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        for (uint32_t d = 0; d < r->diagnosis->ranks.p[i].analysis->devices.n; d++) {
            const struct mt_device_analysis *da = &r->diagnosis->ranks.p[i].analysis->devices.p[d];
            const struct mt_export_track *t = mt_export_track_of(x, &r->diagnosis->ranks.p[i], d);
            if (t != NULL)
                device(&c, t, da,
                       mt_export_track_name(name, sizeof name, r, &r->diagnosis->ranks.p[i], da),
                       &left);
        }
    if (r->diagnosis->driver != NULL)
        mt_chrome_driver(&c, r->diagnosis->driver);
    mt_jw_close(&w, ']');
    mt_jw_ks(&w, "displayTimeUnit", "ms");
    mt_jw_key(&w, "metadata");
    mt_jw_open(&w, '{');
    mt_jw_ks(&w, "producer", "memtrace");
    mt_jw_ks(&w, "version", r->version);
    mt_jw_ks(&w, "title", r->title);
    /* more than a double holds */
    snprintf(number, sizeof number, "%llu", (unsigned long long)c.t0_ns);
    mt_jw_ks(&w, "t0_unix_ns", number);
    mt_jw_ku(&w, "devices_without_curve", left.no_curve);
    mt_jw_ku(&w, "devices_by_event_number", left.by_event);
    mt_jw_ku(&w, "sub_phases_too_short", left.subs);
    mt_jw_ku(&w, "annotations_left_out", left.notes);
    mt_jw_ku(&w, "driver_slices_left_out", c.n_left_out);
    mt_jw_close(&w, '}');
    mt_jw_close(&w, '}');
    mt_putc(o, '\n');
}
