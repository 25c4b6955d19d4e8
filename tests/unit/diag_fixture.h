/* diag_fixture.h -- a diagnosis for the report of report_fixture.h, filled by hand: cause, roles,
 * steps, growth, audits, savings. */
#ifndef MT_DIAG_FIXTURE_H
#define MT_DIAG_FIXTURE_H

#include "analysis/audit/audit.h"
#include "analysis/cause/cause.h"
#include "analysis/expected/expected.h"
#include "tests/unit/report_fixture.h"

enum { FXD_STEPS = 9, FXD_PINS = 5, FXD_EVENT = 4321, FXD_BORN = 77, FXD_WORST = 2109 };

struct diag_fixture {
    struct fixture f;
    struct mt_cause cause;
    struct mt_audits audits;
    struct mt_expected expected;
};

static inline void fxd_cause(struct diag_fixture *x, const char *name)
{
    struct mt_cause *c = &x->cause;
    struct mt_evidence *e = MT_VEC_PUSH(&c->evidence);
    struct mt_what_if *w;
    c->kind = MT_CAUSE_GIANT_TENSOR;
    c->known = true;
    c->conf = MT_CONF_MARKED;
    c->sentence = fx_dup("One giant tensor: the request is logits of 4096 tokens (2.32 GiB).");
    c->request = 2375 * FX_MIB;
    e->text = fx_dup(name);
    e->bytes = 7;
    e->event = e->since = c->event = FXD_EVENT;
    e = MT_VEC_PUSH(&c->evidence);
    *e = (struct mt_evidence){.text = fx_dup("It grew."), .since = 1000, .event = 3000};
    e = MT_VEC_PUSH(&c->evidence);
    *e = (struct mt_evidence){
        .text = fx_dup("It is not known when."), .since = MT_NO_LINK, .event = MT_NO_LINK};
    w = MT_VEC_PUSH(&c->what_ifs);
    *w = (struct mt_what_if){
        "no_fragmentation",
        fx_dup(
            "Without fragmentation the request would not have fitted: 2.00 GiB would still lack."),
        false, FX_MIB, 2 * FX_GIB};
    w = MT_VEC_PUSH(&c->what_ifs);
    *w = (struct mt_what_if){
        "engine_asleep",
        fx_dup("With the engine asleep (37.00 GiB) the request would have fitted."), true,
        37 * FX_GIB, 0};
    for (unsigned i = 0; i < FXD_PINS; i++) {
        struct mt_pin *p = MT_VEC_PUSH(&c->pins);
        *p = (struct mt_pin){.segment = 4096 + i,
                             .total = 20 * FX_MIB,
                             .free = 18 * FX_MIB,
                             .largest_free = (10 + i) * FX_MIB,
                             .block_bytes = 2 * FX_MIB,
                             .label = fx_dup(i == 3 ? "other.py:1 other" : name),
                             .role = MT_ROLE_ACTIVATION,
                             .attr = {.phase = MT_PH_TRAIN, .sub = MT_PH_FORWARD},
                             .event = i == 3 ? MT_NO_LINK : FXD_BORN};
    }
    c->n_pins_all = 7;
    c->pinned_free = 100 * FX_MIB;
    c->next = (struct mt_forecast){.made = true,
                                   .attr = {.phase = MT_PH_TRAIN, .sub = MT_PH_BACKWARD},
                                   .sentence = fx_dup(name)};
}

/* One as expected, one that is more, one that is not known. */
static inline void fxd_expected(struct diag_fixture *x, const char *name)
{
    for (unsigned i = 0; i < 3; i++) {
        struct mt_expect *e = MT_VEC_PUSH(&x->expected.v);
        *e = (struct mt_expect){.role = (uint8_t)(i == 0   ? MT_ROLE_PARAM
                                                  : i == 1 ? MT_ROLE_GRAD
                                                           : MT_ROLE_KV_CACHE),
                                .phase = i == 2 ? MT_PH_ROLLOUT_GENERATE : MT_PH_TRAIN_ACTOR,
                                .known = i != 2,
                                .at_most = i == 1,
                                .more = i == 1,
                                .bytes = i == 2 ? 0 : 4 * FX_GIB,
                                .measured = (i == 1 ? 12 : 4) * FX_GIB,
                                .event = i,
                                .text =
                                    fx_dup(i == 2 ? "the card's size is not known" : "4 x 1 GiB"),
                                .extra = i == 1 ? fx_dup(name) : NULL};
    }
}

static inline void fxd_audits(struct diag_fixture *x, const char *name)
{
    for (unsigned i = 0; i < 2; i++) {
        struct mt_audit *a = MT_VEC_PUSH(&x->audits.v);
        struct mt_audit_row *r;
        memset(a, 0, sizeof *a);
        a->id = i == 0 ? "fsdp_gathers" : "weight_sync";
        a->title = i == 0 ? "FSDP gathers" : "Weight sync";
        a->finding = i == 1;
        a->event = i == 1 ? FXD_WORST : MT_NO_LINK;
        a->sentence = fx_dup(i == 0 ? "Fine." : name);
        a->n_columns = 4;
        a->column[0] = "Who";
        a->column[1] = "Bytes";
        a->column[2] = "Times";
        a->column[3] = "Why";
        r = MT_VEC_PUSH(&a->rows);
        memset(r, 0, sizeof *r);
        r->cell[0] = (struct mt_cell){MT_CELL_TEXT, fx_dup(name), 0};
        r->cell[1] = (struct mt_cell){MT_CELL_BYTES, NULL, 3 * FX_GIB};
        r->cell[2] = (struct mt_cell){MT_CELL_COUNT_, NULL, 1234};
        r->cell[3] = (struct mt_cell){MT_CELL_NONE, NULL, 0};
        a->rows_left_out = i;
    }
}

static inline void fxd_roles(struct mt_device_analysis *d, const char *name)
{
    struct mt_role_facts *f = &d->roles;
    struct mt_growth *g;
    f->made = true;
    f->at_focus[MT_ROLE_KV_CACHE] = 23 * FX_GIB;
    f->at_focus[MT_ROLE_PARAM] = 4 * FX_GIB;
    f->at_focus[MT_ROLE_UNKNOWN] = 40 * FX_GIB;
    f->at_focus[MT_ROLE_BEFORE] = d->focus.live - 67 * FX_GIB;
    f->pending_at_focus[MT_ROLE_PARAM] = FX_GIB;
    memcpy(f->peak, f->at_focus, sizeof f->peak);
    f->peak[MT_ROLE_GRAD] = 3 * FX_GIB;
    f->why_at_focus[MT_WHY_FRAME] = 27 * FX_GIB;
    f->life_at_focus[MT_LIFE_STEP] = 27 * FX_GIB;
    f->unknown_reasons[MT_CONF_LOW] = 40 * FX_GIB;
    f->vocab = 151936;
    f->vocab_split = 2;
    f->logits_tokens = 4096;
    f->logits_elem = 4;
    f->steps_from = "annotations";
    f->n_steps_all = FXD_STEPS;
    for (unsigned i = 0; i < FXD_STEPS; i++) {
        struct mt_step *s = MT_VEC_PUSH(&f->steps);
        struct mt_occurrence *o = MT_VEC_PUSH(&f->occurrences);
        *s = (struct mt_step){.first = i,
                              .last = i,
                              .t0_ns = FX_T0,
                              .t1_ns = FX_T0 + 1000000000,
                              .whole = i != 0,
                              .n_micros = 4,
                              .live_begin = i * FX_GIB,
                              .live_end = (i + 1) * FX_GIB,
                              .peak = (i + 9) * FX_GIB};
        memset(o, 0, sizeof *o);
        o->phase = i % 2 == 0 ? MT_PH_ROLLOUT_GENERATE : MT_PH_TRAIN_ACTOR;
        o->step = i / 2;
        o->peak = (i + 1) * FX_GIB;
        o->peak_roles[MT_ROLE_KV_CACHE] = i * FX_GIB;
        o->peak_roles[MT_ROLE_PARAM] = FX_GIB;
        o->retained = i * FX_MIB;
        o->useless = i % 2 == 0 ? 0 : i * FX_GIB;
    }
    f->n_occurrences_all = FXD_STEPS + 2000;
    g = MT_VEC_PUSH(&f->growth);
    *g = (struct mt_growth){.label = fx_dup(name),
                            .role = MT_ROLE_WEIGHT_SYNC,
                            .n_steps = 8,
                            .first = FX_GIB,
                            .last = 9 * FX_GIB,
                            .first_event = 1,
                            .last_event = 8,
                            .slope = 1073741824.4,
                            .r2 = 0.99,
                            .conf = MT_CONF_INFERRED};
}

static inline void fxd_make(struct diag_fixture *x, bool hostile)
{
    static const struct mt_fix_saving saving = {.note = "At most."};
    const char *name = hostile ? FX_HOSTILE : "recipe/metrics.py:41 append_metrics";
    struct mt_analysis *a;
    struct mt_device_analysis *d;
    memset(x, 0, sizeof *x);
    fx_make(&x->f, 1, 10, hostile);
    a = &x->f.a[0];
    d = &a->devices.p[0];
    d->cause = &x->cause;
    d->audits = &x->audits;
    d->expected = &x->expected;
    fxd_expected(x, name);
    fxd_cause(x, name);
    fxd_audits(x, name);
    fxd_roles(d, name);
    a->advice.p[0].saving = (struct mt_saving){.known = true,
                                               .conf = MT_FIX_MEDIUM,
                                               .bytes = 6 * FX_GIB,
                                               .low = 4 * FX_GIB,
                                               .high = 7 * FX_GIB,
                                               .to_come = -1};
    a->advice.p[0].saving_of = &saving;
    a->advice.p[0].current = fx_dup(name);
    x->f.rule[1].no_saving = hostile ? FX_HOSTILE : "host memory, not the card's";
    a->combined.saving = a->advice.p[0].saving;
    a->combined.n = 1;
    a->choices = (struct mt_choices){.n = 1, .n_first = 1, .needed = UINT64_C(80) << 30};
    a->choices.with[1] = (struct mt_outcome){.low = UINT64_C(6) << 30,
                                             .bytes = UINT64_C(6) << 30,
                                             .high = UINT64_C(6) << 30,
                                             .fits_known = true,
                                             .is_sure = true};
    a->combined.fits_known = a->combined.fits = true;
    a->combined.sentence = fx_dup("With this setting: about 6.00 GiB less; the failed request of "
                                  "2.32 GiB would have fitted.");
}

static inline void fxd_done(struct diag_fixture *x)
{
    struct mt_analysis *a = &x->f.a[0];
    struct mt_role_facts *f = &a->devices.p[0].roles;
    mt_cause_done(&x->cause);
    mt_audits_done(&x->audits);
    mt_expected_done(&x->expected);
    mt_free(f->growth.p[0].label);
    MT_VEC_DONE(&f->growth);
    MT_VEC_DONE(&f->steps);
    MT_VEC_DONE(&f->occurrences);
    mt_free(a->advice.p[0].current);
    mt_free(a->combined.sentence);
    fx_done(&x->f);
}

#endif
