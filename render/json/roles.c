/* "roles", "steps", "micro_batches", "occurrences" and "growth" of a device (docs/json.md). */
#include "render/json/impl.h"
#include "render/view/diagnosis.h"

static void event(struct mt_jsonw *w, const char *key, int64_t event)
{
    mt_jw_key(w, key);
    if (event != MT_NO_EVENT)
        mt_jw_i(w, event);
    else
        mt_jw_null(w);
}

/* Only what is not zero. */
static void split(struct mt_jsonw *w, const char *key, const uint64_t bytes[MT_ROLE_COUNT])
{
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < MT_ROLE_COUNT; i++) {
        if (bytes[i] == 0)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "role", mt_role_id((enum mt_role)i));
        mt_jw_ku(w, "bytes", bytes[i]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void roles(struct mt_jsonw *w, const struct mt_role_facts *f)
{
    mt_jw_key(w, "roles");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < MT_ROLE_COUNT; i++) {
        if (f->at_focus[i] == 0 && f->peak[i] == 0 && f->alloc_bytes[i] == 0)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "role", mt_role_id((enum mt_role)i));
        mt_jw_ku(w, "bytes", f->at_focus[i]);
        mt_jw_ku(w, "pending_bytes", f->pending_at_focus[i]);
        mt_jw_known(w, "peak_bytes", f->made, f->peak[i]);
        event(w, "peak_event", f->peak_event[i]);
        mt_jw_known(w, "allocated_bytes", f->made, f->alloc_bytes[i]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "lifetimes");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < MT_LIFE_COUNT; i++) {
        if (f->life_at_focus[i] == 0)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "lifetime", mt_life_id((enum mt_life)i));
        mt_jw_ku(w, "bytes", f->life_at_focus[i]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "known_by");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < MT_WHY_COUNT; i++) {
        if (f->why_at_focus[i] == 0)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "reason", mt_role_why_id((enum mt_role_why)i));
        mt_jw_ku(w, "bytes", f->why_at_focus[i]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "unknown_role");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < MT_CONF_COUNT; i++) {
        if (f->unknown_reasons[i] == 0)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "phase_confidence", mt_conf_name((enum mt_conf)i));
        mt_jw_ku(w, "bytes", f->unknown_reasons[i]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_known(w, "verified_events", f->verified_events != 0, f->verified_events);
    mt_jw_key(w, "logits");
    mt_jw_open(w, '{');
    mt_jw_known(w, "vocabulary", f->vocab != 0, f->vocab);
    mt_jw_kb(w, "vocabulary_is_guess", f->vocab_is_guess);
    mt_jw_known(w, "vocabulary_split", f->vocab != 0, f->vocab_split);
    mt_jw_known(w, "tokens", f->vocab != 0, f->logits_tokens);
    mt_jw_known(w, "element_bytes", f->vocab != 0, f->logits_elem);
    mt_jw_close(w, '}');
}

static void steps(struct mt_jsonw *w, const struct mt_role_facts *f)
{
    mt_jw_ks(w, "steps_from", f->steps.n != 0 ? f->steps_from : NULL);
    mt_jw_ku(w, "step_count", f->n_steps_all);
    mt_jw_key(w, "steps");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < f->steps.n && i < MT_JSON_LISTED; i++) {
        const struct mt_step *s = &f->steps.p[i];
        mt_jw_open(w, '{');
        mt_jw_ku(w, "first_event", s->first);
        mt_jw_ku(w, "last_event", s->last);
        mt_jw_known(w, "first_time_ns", s->t0_ns != 0, s->t0_ns);
        mt_jw_known(w, "last_time_ns", s->t1_ns != 0, s->t1_ns);
        mt_jw_kb(w, "whole", s->whole);
        mt_jw_ku(w, "micro_batch_count", s->n_micros);
        mt_jw_ku(w, "live_begin_bytes", s->live_begin);
        mt_jw_ku(w, "live_end_bytes", s->live_end);
        mt_jw_ku(w, "peak_bytes", s->peak);
        event(w, "peak_event", s->peak_event);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

/* The micro-batches in numbers: how many, and how much they differ. */
static void micros(struct mt_jsonw *w, const struct mt_role_facts *f)
{
    uint64_t n_backward = 0, least = UINT64_MAX, most = 0, tokens_least = UINT64_MAX,
             tokens_most = 0;
    for (uint32_t i = 0; i < f->micros.n; i++) {
        const struct mt_micro *m = &f->micros.p[i];
        uint64_t grown = m->peak - (m->live_begin < m->peak ? m->live_begin : m->peak);
        n_backward += m->has_backward;
        least = grown < least ? grown : least;
        most = grown > most ? grown : most;
        if (m->tokens_bytes != 0) {
            tokens_least = m->tokens_bytes < tokens_least ? m->tokens_bytes : tokens_least;
            tokens_most = m->tokens_bytes > tokens_most ? m->tokens_bytes : tokens_most;
        }
    }
    mt_jw_key(w, "micro_batches");
    mt_jw_open(w, '{');
    mt_jw_ku(w, "count", f->n_micros_all);
    mt_jw_ku(w, "with_backward", n_backward);
    mt_jw_known(w, "least_growth_bytes", f->micros.n != 0, least);
    mt_jw_known(w, "most_growth_bytes", f->micros.n != 0, most);
    mt_jw_known(w, "least_tokens_block_bytes", tokens_most != 0, tokens_least);
    mt_jw_known(w, "most_tokens_block_bytes", tokens_most != 0, tokens_most);
    mt_jw_close(w, '}');
}

static void occurrences(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    const struct mt_role_facts *f = &d->roles;
    char name[MT_WORDS];
    mt_jw_ku(w, "occurrence_count", f->n_occurrences_all);
    mt_jw_key(w, "occurrences");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < f->occurrences.n && i < MT_JSON_LISTED; i++) {
        const struct mt_occurrence *o = &f->occurrences.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "phase", mt_phase_id((enum mt_phase)o->phase));
        mt_jw_ks(w, "phase_name", mt_occ_name(name, d, o->phase));
        mt_jw_known(w, "step", o->step != UINT32_MAX, o->step);
        mt_jw_ku(w, "first_event", o->first);
        mt_jw_ku(w, "last_event", o->last);
        mt_jw_known(w, "first_time_ns", o->t0_ns != 0, o->t0_ns);
        mt_jw_known(w, "last_time_ns", o->t1_ns != 0, o->t1_ns);
        mt_jw_ku(w, "live_begin_bytes", o->live_begin);
        mt_jw_ku(w, "live_end_bytes", o->live_end);
        mt_jw_ku(w, "peak_bytes", o->peak);
        event(w, "peak_event", o->peak_event);
        mt_jw_ku(w, "allocations", o->n_allocs);
        mt_jw_ku(w, "allocated_bytes", o->alloc_bytes);
        mt_jw_ku(w, "retained_bytes", o->retained);
        mt_jw_ku(w, "useless_bytes", o->useless);
        split(w, "at_peak", o->peak_roles);
        split(w, "retained", o->retained_roles);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void expected(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    mt_jw_ks(w, "occurrence_note", d->roles.occurrences.n != 0 ? mt_occ_note(d) : NULL);
    mt_jw_key(w, "expected");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; mt_has_expected(d) && i < d->expected->v.n; i++) {
        const struct mt_expect *e = &d->expected->v.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "role", mt_role_id((enum mt_role)e->role));
        mt_jw_ks(w, "phase", mt_phase_id((enum mt_phase)e->phase));
        mt_jw_ku(w, "measured_bytes", e->measured);
        event(w, "measured_event", e->event);
        mt_jw_known(w, "expected_bytes", e->known, e->bytes);
        mt_jw_kb(w, "at_most", e->at_most);
        mt_jw_kb(w, "more_than_expected", e->more);
        mt_jw_ks(w, e->known ? "formula" : "unknown", e->text);
        mt_jw_ks(w, "extra", e->extra);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void growth(struct mt_jsonw *w, const struct mt_role_facts *f)
{
    mt_jw_key(w, "growth");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < f->growth.n; i++) {
        const struct mt_growth *g = &f->growth.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "label", g->label);
        mt_jw_ks(w, "role", mt_role_id((enum mt_role)g->role));
        mt_jw_ku(w, "compared_steps", g->n_steps);
        mt_jw_ku(w, "first_bytes", g->first);
        mt_jw_ku(w, "last_bytes", g->last);
        mt_jw_ku(w, "first_event", g->first_event);
        mt_jw_ku(w, "last_event", g->last_event);
        mt_jw_ku(w, "bytes_per_step", (uint64_t)(g->slope + 0.5));
        mt_jw_ku(w, "fit_percent", (uint64_t)(g->r2 * 100));
        mt_jw_ks(w, "confidence", mt_conf_name((enum mt_conf)g->conf));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

void mt_json_roles(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    roles(w, &d->roles);
    steps(w, &d->roles);
    micros(w, &d->roles);
    occurrences(w, d);
    expected(w, d);
    growth(w, &d->roles);
}

const char *mt_json_pool_role(const struct mt_device_analysis *d, const struct mt_pool_row *p)
{
    for (uint32_t i = 0; p->pool_known && i < d->roles.pools.n; i++) {
        const struct mt_role_pool *r = &d->roles.pools.p[i];
        if (r->pool[0] == p->pool[0] && r->pool[1] == p->pool[1] && r->role != MT_ROLE_UNKNOWN)
            return mt_role_id((enum mt_role)r->role);
    }
    return NULL;
}
