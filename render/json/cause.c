/* "cause" of the report and of a device, "audits" of a device (docs/json.md). */

#include "render/json/impl.h"
#include "analysis/audit/audit.h"
#include "analysis/cause/cause.h"
#include "render/view/driver.h"

static void number(struct mt_jsonw *w, const char *key, uint64_t v)
{
    mt_jw_known(w, key, v != 0, v);
}

/* Number of an event, or null. */
static void event(struct mt_jsonw *w, const char *key, int64_t e)
{
    mt_jw_known(w, key, e >= 0, e >= 0 ? (uint64_t)e : 0);
}

static void evidence(struct mt_jsonw *w, const char *text, uint64_t bytes, int64_t since,
                     int64_t at)
{
    mt_jw_open(w, '{');
    mt_jw_ks(w, "text", text);
    number(w, "bytes", bytes);
    event(w, "first_event", since);
    event(w, "event", at);
    mt_jw_close(w, '}');
}

static void what_ifs(struct mt_jsonw *w, const struct mt_cause *c)
{
    mt_jw_key(w, "what_ifs");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; c != NULL && i < c->what_ifs.n; i++) {
        const struct mt_what_if *f = &c->what_ifs.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", f->id);
        mt_jw_kb(w, "fits", f->fits);
        mt_jw_ku(w, "freed_bytes", f->freed);
        mt_jw_ku(w, "short_by_bytes", f->short_by);
        mt_jw_ks(w, "text", f->text);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void pins(struct mt_jsonw *w, const struct mt_cause *c)
{
    mt_jw_key(w, "pins");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; c != NULL && i < c->pins.n; i++) {
        const struct mt_pin *p = &c->pins.p[i];
        mt_jw_open(w, '{');
        mt_jw_ku(w, "segment_address", p->segment);
        mt_jw_ku(w, "segment_bytes", p->total);
        mt_jw_ku(w, "free_bytes", p->free);
        mt_jw_ku(w, "largest_hole_bytes", p->largest_free);
        mt_jw_ku(w, "live_bytes", p->block_bytes);
        mt_jw_ks(w, "site", p->label);
        mt_jw_ks(w, "role", mt_role_id((enum mt_role)p->role));
        mt_json_phase(w, (enum mt_phase)p->attr.phase, (enum mt_phase)p->attr.sub);
        event(w, "event", p->event);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void next(struct mt_jsonw *w, const struct mt_forecast *n)
{
    mt_jw_key(w, "next");
    if (!n->made || n->sentence == NULL) {
        mt_jw_null(w);
        return;
    }
    mt_jw_open(w, '{');
    mt_jw_ks(w, "sentence", n->sentence);
    mt_jw_kb(w, "tight", n->tight);
    mt_json_phase(w, (enum mt_phase)n->attr.phase, (enum mt_phase)n->attr.sub);
    mt_jw_ks(w, "role", mt_role_id((enum mt_role)n->role));
    mt_jw_ku(w, "role_bytes", n->role_bytes);
    mt_jw_ku(w, "live_bytes", n->live);
    mt_jw_ku(w, "reserved_bytes", n->reserved);
    mt_jw_known(w, "headroom_bytes", n->headroom_known, n->headroom);
    number(w, "steps_left", n->steps_left);
    mt_jw_close(w, '}');
}

static void cause(struct mt_jsonw *w, const struct mt_cause *c)
{
    mt_jw_key(w, "cause");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "id", mt_cause_id(c->kind));
    mt_jw_kb(w, "known", c->known);
    mt_jw_ks(w, "confidence", mt_conf_name((enum mt_conf)c->conf));
    mt_jw_ks(w, "sentence", c->sentence[0] != '\0' ? c->sentence : NULL);
    event(w, "event", c->event);
    number(w, "request_bytes", c->request);
    mt_jw_key(w, "evidence");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < c->evidence.n; i++)
        evidence(w, c->evidence.p[i].text, c->evidence.p[i].bytes, c->evidence.p[i].since,
                 c->evidence.p[i].event);
    mt_jw_close(w, ']');
    what_ifs(w, c);
    pins(w, c);
    number(w, "pinned_segments", c->n_pins_all);
    number(w, "pinned_free_bytes", c->pinned_free);
    number(w, "tokens", c->tokens);
    number(w, "vocabulary", c->vocab);
    mt_jw_kb(w, "vocabulary_is_guess", c->vocab_is_guess);
    number(w, "vocabulary_split", c->vocab_split);
    number(w, "element_bytes", c->elem);
    next(w, &c->next);
    mt_jw_close(w, '}');
}

/* A log or a trace of driver calls says it in one sentence. */
static void other(struct mt_jsonw *w, const struct mt_cause_told *c)
{
    mt_jw_key(w, "cause");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "id", mt_cause_id(c->kind));
    mt_jw_kb(w, "known", c->known);
    mt_jw_ks(w, "confidence", mt_conf_name((enum mt_conf)c->conf));
    mt_jw_ks(w, "sentence", c->sentence != NULL && c->sentence[0] != '\0' ? c->sentence : NULL);
    event(w, "event", MT_NO_LINK);
    number(w, "request_bytes", c->request);
    mt_jw_key(w, "evidence");
    mt_jw_open(w, '[');
    if (c->because != NULL && c->because[0] != '\0')
        evidence(w, c->because, 0, MT_NO_LINK, MT_NO_LINK);
    mt_jw_close(w, ']');
    what_ifs(w, NULL);
    pins(w, NULL);
    mt_jw_close(w, '}');
}

void mt_json_cause(struct mt_jsonw *w, const struct mt_report *r)
{
    struct mt_cause_told told;
    const struct mt_cause *c = mt_diagnosis_cause(r->diagnosis, &told);
    if (c != NULL)
        cause(w, c);
    else if (mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG ||
             mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER)
        other(w, &told);
    else
        mt_jw_ks(w, "cause", NULL);
}

static void cell(struct mt_jsonw *w, const struct mt_cell *c)
{
    switch (c->kind) {
    case MT_CELL_TEXT: mt_jw_s(w, c->text); break;
    case MT_CELL_BYTES:
    case MT_CELL_COUNT_: mt_jw_u(w, c->number); break;
    case MT_CELL_NONE: mt_jw_null(w); break;
    }
}

static const char *unit(const struct mt_audit *a, uint32_t column)
{
    for (uint32_t i = 0; i < a->rows.n; i++) {
        if (a->rows.p[i].cell[column].kind == MT_CELL_BYTES)
            return "bytes";
        if (a->rows.p[i].cell[column].kind == MT_CELL_COUNT_)
            return "count";
    }
    return NULL;
}

static void audit(struct mt_jsonw *w, const struct mt_audit *a)
{
    mt_jw_open(w, '{');
    mt_jw_ks(w, "id", a->id);
    mt_jw_ks(w, "title", a->title);
    mt_jw_kb(w, "finding", a->finding);
    mt_jw_ks(w, "sentence", a->sentence);
    number(w, "bytes", a->bytes);
    event(w, "event", a->event);
    mt_jw_key(w, "headings");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < a->n_columns; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "text", a->column[i]);
        mt_jw_ks(w, "unit", unit(a, i));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "rows");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < a->rows.n; i++) {
        mt_jw_open(w, '[');
        for (uint32_t k = 0; k < a->n_columns; k++)
            cell(w, &a->rows.p[i].cell[k]);
        mt_jw_close(w, ']');
    }
    mt_jw_close(w, ']');
    mt_jw_ku(w, "rows_left_out", a->rows_left_out);
    mt_jw_close(w, '}');
}

void mt_json_device_cause(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    if (d->cause != NULL)
        cause(w, d->cause);
    else
        mt_jw_ks(w, "cause", NULL);
    mt_jw_key(w, "audits");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; d->audits != NULL && i < d->audits->v.n; i++)
        audit(w, &d->audits->v.p[i]);
    mt_jw_close(w, ']');
}
