#include "render/html/page_index.h"

#include "render/html/page_plan.h"
#include "render/view/asked.h"
#include "render/view/diagnosis.h"
#include "render/view/story.h"
#include "render/base/jsonw.h"
#include "render/view/rows.h"
#include "render/svg/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Nanoseconds do not fit into the numbers of JavaScript. */
static void key_ns(struct mt_jsonw *w, const char *key, uint64_t ns)
{
    char buf[32];
    (void)snprintf(buf, sizeof buf, "%" PRIu64, ns);
    mt_jw_ks(w, key, buf);
}

static void put_named(struct mt_jsonw *w, const char *id, const char *name, unsigned color)
{
    mt_jw_open(w, '{');
    mt_jw_ks(w, "id", id);
    mt_jw_ks(w, "name", name);
    mt_jw_ks(w, "color", mt_color_hex(color));
    mt_jw_close(w, '}');
}

/* Of a phase wherever it stands: as a coarse one by itself, else in the first pair that has a
 * colour. */
static unsigned phase_color(const struct mt_palette *p, unsigned phase)
{
    if (p->of[phase][MT_PH_NONE] != MT_COLOR_OTHER)
        return p->of[phase][MT_PH_NONE];
    for (unsigned i = 0; i < MT_PH_COUNT; i++)
        if (mt_phase_is(phase, MT_COARSE) && p->of[phase][i] != MT_COLOR_OTHER)
            return p->of[phase][i];
        else if (!mt_phase_is(phase, MT_COARSE) && p->of[i][phase] != MT_COLOR_OTHER)
            return p->of[i][phase];
    return MT_COLOR_OTHER;
}

static void put_names(const struct mt_page *p, struct mt_jsonw *w)
{
    mt_jw_key(w, "roles");
    mt_jw_open(w, '[');
    for (int i = 0; i < MT_ROLE_COUNT; i++)
        put_named(w, mt_role_id((enum mt_role)i), mt_role_words((enum mt_role)i),
                  mt_role_color((unsigned)i));
    mt_jw_close(w, ']');
    mt_jw_key(w, "palette");
    mt_jw_open(w, '[');
    mt_jw_s(w, mt_color_hex(MT_COLOR_OTHER));
    for (unsigned i = MT_COLOR_FIRST; i < MT_COLOR_COUNT; i++)
        mt_jw_s(w, mt_color_hex(i));
    mt_jw_close(w, ']');
    mt_jw_key(w, "phases");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < MT_PH_COUNT; i++)
        put_named(w, mt_phase_id((enum mt_phase)i), mt_phase_words((enum mt_phase)i),
                  phase_color(&p->pal, i));
    mt_jw_close(w, ']');
    mt_jw_key(w, "holders");
    mt_jw_open(w, '[');
    for (int i = 0; i < MT_HOLD_COUNT; i++)
        put_named(w, mt_holder_id((enum mt_holder)i), mt_holder_words((enum mt_holder)i),
                  mt_holder_color((enum mt_holder)i));
    mt_jw_close(w, ']');
}

static void put_chunks(struct mt_jsonw *w, const struct mt_track_plan *t)
{
    const struct mt_pack *p = t->pack;
    uint64_t events = 0, first = 0;
    uint32_t chunks = 0;
    mt_jw_key(w, "runs");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i <= p->chunks.n; i++) {
        bool has = i < p->chunks.n && mt_plan_has(t, i);
        if (has) {
            first = chunks == 0 ? p->chunks.p[i].first : first;
            events += p->chunks.p[i].n;
            chunks++;
        } else if (chunks != 0) {
            mt_jw_open(w, '{');
            mt_jw_ku(w, "first", first);
            mt_jw_ku(w, "events", events);
            mt_jw_ku(w, "chunks", chunks);
            mt_jw_close(w, '}');
            events = chunks = 0;
        }
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "chunks");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < p->chunks.n; i++) {
        if (!mt_plan_has(t, i))
            continue;
        mt_jw_open(w, '{');
        mt_jw_ku(w, "m", p->chunks.p[i].has_rest);
        mt_jw_ku(w, "a", t->addresses && p->chunks.p[i].addresses.p != NULL);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static const char *level_of(const struct mt_track_plan *t)
{
    if (mt_plan_withheld(t))
        return "withheld";
    return t->detail == MT_DETAIL_ALL       ? "exact"
           : t->detail == MT_DETAIL_WINDOWS ? "windows"
                                            : "overview";
}

static void put_event(struct mt_jsonw *w, int64_t event)
{
    mt_jw_ki(w, "event", event == MT_NO_EVENT ? -1 : event);
}

static void put_moments(struct mt_jsonw *w, const struct mt_pack *p,
                        const struct mt_device_analysis *d)
{
    mt_jw_key(w, "start");
    mt_jw_open(w, '{');
    mt_jw_ku(w, "live", d->live_start);
    mt_jw_ki(w, "pending", p->start_pending);
    mt_jw_ku(w, "reserved", d->reserved_start);
    mt_jw_close(w, '}');
    mt_jw_key(w, "peak");
    mt_jw_open(w, '{');
    put_event(w, d->peak_event);
    mt_jw_ku(w, "live", d->live_peak);
    mt_jw_ku(w, "tick", p->peak_tick);
    mt_jw_close(w, '}');
    mt_jw_key(w, "focus");
    mt_jw_open(w, '{');
    put_event(w, d->focus.event);
    mt_jw_ku(w, "live", d->focus.live);
    mt_jw_kb(w, "oom", d->focus_is_oom);
    mt_jw_close(w, '}');
}

/* The n-th request that failed, for the picture: marks have those of a device in their order. */
static void put_asked(struct mt_jsonw *w, const struct mt_device_analysis *d, unsigned n)
{
    struct mt_asked a;
    if (n >= d->ooms.n || !mt_asked_of(&a, d, &d->ooms.p[n]))
        return;
    mt_jw_key(w, "request");
    mt_jw_open(w, '[');
    mt_jw_u(w, a.live);
    mt_jw_u(w, mt_asked_reserved(&a));
    mt_jw_u(w, mt_asked_base(&a));
    mt_jw_u(w, mt_asked_top(&a));
    mt_jw_u(w, mt_asked_end(&a));
    mt_jw_u(w, mt_asked_room(&a));
    mt_jw_close(w, ']');
}

static void put_marks(struct mt_jsonw *w, const struct mt_pack *p,
                      const struct mt_device_analysis *d)
{
    static const char *const kind[] = {"oom", "peak", "pin", "growth"};
    char id[32];
    unsigned n[sizeof kind / sizeof *kind] = {0};
    mt_jw_key(w, "marks");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < p->marks.n; i++) {
        const struct mt_pack_mark *m = &p->marks.p[i];
        (void)snprintf(id, sizeof id, n[m->kind] != 0 ? "%s%u" : "%s", kind[m->kind],
                       n[m->kind] + 1);
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", id);
        mt_jw_ks(w, "kind", kind[m->kind]);
        /* the peak may be the start, before the first event */
        mt_jw_ki(w, "from", m->kind == MT_MARK_PEAK ? d->peak_event : (int64_t)m->from);
        mt_jw_ki(w, "to", m->kind == MT_MARK_PEAK ? d->peak_event : (int64_t)m->to);
        mt_jw_ks(w, "text", m->text);
        if (m->kind == MT_MARK_OOM)
            put_asked(w, d, n[m->kind]);
        n[m->kind]++;
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

/* The numbered flags of a failure, and what to look at first. */
static void put_story(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    struct mt_story s;
    mt_story_of(&s, d);
    mt_jw_key(w, "story");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < s.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ki(w, "event", s.step[i].event);
        mt_jw_ks(w, "text", s.step[i].words);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    if (s.to == 0)
        return;
    mt_jw_key(w, "home");
    mt_jw_open(w, '[');
    mt_jw_u(w, s.from);
    mt_jw_u(w, s.to);
    mt_jw_close(w, ']');
}

static void put_time(struct mt_jsonw *w, const struct mt_track_plan *t)
{
    const struct mt_pack *p = t->pack;
    mt_jw_key(w, "time");
    if (!p->has_time) {
        mt_jw_null(w);
        return;
    }
    mt_jw_open(w, '{');
    key_ns(w, "t0_ns", p->t0_ns);
    mt_jw_ku(w, "tick_ns", p->tick_ns);
    mt_jw_ku(w, "step", t->detail == MT_DETAIL_ALL && t->coarse ? p->time_step : 1);
    mt_jw_ku(w, "end", p->end);
    mt_jw_kb(w, "back", p->goes_back);
    mt_jw_close(w, '}');
}

bool mt_page_ledger(const struct mt_page *p, const struct mt_track_plan *t, uint32_t *ledger)
{
    const struct mt_driverdiag *driver = p->r->diagnosis->driver;
    const struct mt_device_analysis *d =
        &p->r->diagnosis->ranks.p[t->rank].analysis->devices.p[t->device];
    for (uint32_t i = 0; driver != NULL && d->kind != MT_DEV_HOST && i < driver->reconciled.n;
         i++) {
        const struct mt_reconcile *x = &driver->reconciled.p[i];
        *ledger = x->ledger;
        if (x->rank == t->rank && x->ordinal == d->ordinal && x->ledger < driver->ledgers.n)
            return true;
    }
    return false;
}

/* What to look along at first: events where, over time, most of the width would be waiting. */
static const char *first_axis(const struct mt_pack *p, const struct mt_device_analysis *d)
{
    uint32_t idle = 0;
    for (uint32_t c = 0; c < d->timeline.n_columns; c++)
        idle += d->timeline.events[c] == 0;
    return p->has_time && idle * 2 <= d->timeline.n_columns ? "t" : "e";
}

static void put_track(const struct mt_page *p, struct mt_jsonw *w, const struct mt_track_plan *t,
                      uint32_t id)
{
    const struct mt_rank *rank = &p->r->diagnosis->ranks.p[t->rank];
    const struct mt_device_analysis *d = &rank->analysis->devices.p[t->device];
    const struct mt_meta *m = &rank->trace->meta;
    char label[1024];
    uint32_t ledger;
    mt_jw_open(w, '{');
    mt_jw_ku(w, "id", id);
    mt_jw_ks(w, "label", mt_row_place(p->r, rank, d, label, sizeof label));
    mt_jw_key(w, "rank");
    if (m->rank >= 0)
        mt_jw_i(w, m->rank);
    else
        mt_jw_null(w);
    mt_jw_ki(w, "device", d->ordinal);
    mt_jw_ks(w, "kind", mt_device_kind_name(d->kind));
    mt_jw_ks(w, "input", m->member != NULL ? m->member : m->input);
    mt_jw_kb(w, "primary", d == p->dev);
    if (mt_page_ledger(p, t, &ledger))
        mt_jw_ku(w, "ledger", ledger);
    mt_jw_ku(w, "events", t->pack->n_events);
    mt_jw_ku(w, "old", t->pack->n_old);
    mt_jw_ku(w, "lost", t->pack->n_lost);
    mt_jw_ku(w, "capacity", d->capacity);
    mt_jw_ku(w, "addr_unit", t->pack->addr_unit);
    put_time(w, t);
    mt_jw_ks(w, "axis", first_axis(t->pack, d));
    mt_jw_key(w, "groups");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < t->pack->n_groups; i++)
        mt_jw_u(w, t->pack->group[i]);
    mt_jw_close(w, ']');
    mt_jw_ks(w, "level", level_of(t));
    mt_jw_key(w, "left_out");
    mt_jw_open(w, '[');
    if (t->pack->why != NULL)
        mt_jw_s(w, t->pack->why);
    for (unsigned i = 0; mt_plan_left_out(t, i) != NULL; i++)
        mt_jw_s(w, mt_plan_left_out(t, i));
    mt_jw_close(w, ']');
    put_chunks(w, t);
    put_moments(w, t->pack, d);
    put_marks(w, t->pack, d);
    put_story(w, d);
    mt_jw_close(w, '}');
}

static void put_calls(const struct mt_page *p, struct mt_jsonw *w, const struct mt_calls_plan *c,
                      uint32_t id)
{
    const struct mt_ledger *l = &p->r->diagnosis->driver->ledgers.p[c->calls.ledger];
    const struct mt_call_pack *k = &c->calls;
    uint32_t n = 0;
    char label[512];
    mt_jw_open(w, '{');
    mt_jw_ku(w, "id", id);
    mt_jw_ks(w, "label", mt_h_calls_name(label, sizeof label, l));
    mt_jw_key(w, "rank");
    mt_jw_null(w);
    mt_jw_ki(w, "device", l->gpu != MT_NONE32 ? (int64_t)l->gpu : -1);
    mt_jw_ks(w, "kind", "driver");
    mt_jw_ks(w, "input", p->r->diagnosis->driver->drivers.p[l->driver]->meta.input);
    mt_jw_kb(w, "primary", id == p->plan->track.n && mt_page_has_calls(p));
    mt_jw_ku(w, "ledger", k->ledger);
    mt_jw_ku(w, "events", k->pack->n_events);
    mt_jw_ku(w, "old", 0);
    mt_jw_ku(w, "lost", 0);
    mt_jw_ku(w, "capacity", l->capacity);
    mt_jw_ku(w, "addr_unit", 0);
    put_time(w, &c->track);
    mt_jw_ks(w, "axis", k->focus_is_oom || !k->pack->has_time ? "e" : "t");
    mt_jw_key(w, "groups");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < k->pack->n_groups; i++)
        mt_jw_u(w, k->pack->group[i]);
    mt_jw_close(w, ']');
    mt_jw_ks(w, "level", level_of(&c->track));
    mt_jw_key(w, "left_out");
    mt_jw_open(w, '[');
    for (unsigned i = 0; mt_plan_left_out(&c->track, i) != NULL; i++)
        mt_jw_s(w, mt_plan_left_out(&c->track, i));
    mt_jw_close(w, ']');
    put_chunks(w, &c->track);
    mt_jw_key(w, "start");
    mt_jw_open(w, '{');
    mt_jw_ku(w, "live", 0);
    mt_jw_ku(w, "pending", 0);
    mt_jw_ku(w, "reserved", 0);
    mt_jw_close(w, '}');
    mt_jw_key(w, "peak");
    mt_jw_open(w, '{');
    mt_jw_ki(w, "event", k->peak_event);
    mt_jw_ku(w, "live", k->peak_live);
    mt_jw_ku(w, "tick", k->pack->peak_tick);
    mt_jw_close(w, '}');
    mt_jw_key(w, "focus");
    mt_jw_open(w, '{');
    mt_jw_ki(w, "event", k->focus_event);
    mt_jw_ku(w, "live", k->focus_live);
    mt_jw_kb(w, "oom", k->focus_is_oom);
    mt_jw_close(w, '}');
    mt_jw_key(w, "marks");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < k->pack->marks.n; i++) {
        const struct mt_pack_mark *m = &k->pack->marks.p[i];
        bool oom = m->kind == MT_MARK_OOM;
        char mark[32];
        (void)snprintf(mark, sizeof mark, !oom ? "peak" : n != 0 ? "oom%u" : "oom", n + 1);
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", mark);
        mt_jw_ks(w, "kind", oom ? "oom" : "peak");
        mt_jw_ku(w, "from", m->from);
        mt_jw_ku(w, "to", m->to);
        mt_jw_ks(w, "text", m->text);
        if (oom && k->asked.p[n].top > k->asked.p[n].base) { /* how much is known */
            const struct mt_call_asked *a = &k->asked.p[n];
            mt_jw_key(w, "request");
            mt_jw_open(w, '[');
            mt_jw_u(w, a->live);
            mt_jw_u(w, a->reserved);
            mt_jw_u(w, a->base);
            mt_jw_u(w, a->top);
            mt_jw_u(w, a->end);
            mt_jw_u(w, a->room);
            mt_jw_close(w, ']');
        }
        n += oom;
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "story");
    mt_jw_open(w, '[');
    mt_jw_close(w, ']');
    if (k->home[0] < k->home[1]) {
        mt_jw_key(w, "home");
        mt_jw_open(w, '[');
        mt_jw_u(w, k->home[0]);
        mt_jw_u(w, k->home[1]);
        mt_jw_close(w, ']');
    }
    mt_jw_close(w, '}');
}

void mt_page_index(const struct mt_page *p, const struct mt_page_plan *plan, struct mt_out *o)
{
    struct mt_jsonw w;
    char title[512];
    mt_jw_init(&w, o, false);
    mt_jw_open(&w, '{');
    mt_jw_ku(&w, "v", 1);
    mt_jw_ks(&w, "title", mt_report_title(p->r, title, sizeof title));
    mt_jw_ks(&w, "version", p->r->version);
    put_names(p, &w);
    mt_jw_key(&w, "tracks");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < plan->track.n; i++)
        put_track(p, &w, &plan->track.p[i], i);
    for (uint32_t i = 0; i < plan->calls.n; i++)
        put_calls(p, &w, &plan->calls.p[i], plan->track.n + i);
    mt_jw_close(&w, ']');
    mt_jw_key(&w, "ledgers");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; p->r->diagnosis->driver != NULL && i < p->r->diagnosis->driver->ledgers.n;
         i++) {
        const struct mt_ledger *l = &p->r->diagnosis->driver->ledgers.p[i];
        mt_jw_open(&w, '{');
        mt_jw_ku(&w, "id", i);
        mt_jw_ks(&w, "name", l->name);
        mt_jw_ku(&w, "capacity", l->capacity);
        key_ns(&w, "t0_ns", l->t0_ns);
        mt_jw_ku(&w, "peak", l->peak_named);
        mt_jw_close(&w, '}');
    }
    mt_jw_close(&w, ']');
    mt_jw_close(&w, '}');
}
