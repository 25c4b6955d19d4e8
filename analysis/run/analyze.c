#include "analysis/run/analyze.h"

#include "analysis/advice/advice.h"
#include "analysis/audit/audit.h"
#include "analysis/cause/cause.h"
#include "analysis/cause/skew.h"
#include "analysis/expected/expected.h"
#include "analysis/replay/replay.h"
#include "analysis/roles/rules.h"
#include "analysis/roles/roles.h"
#include "analysis/setup/settings.h"
#include "analysis/replay/timeline.h"
#include "analysis/cause/verdict.h"

#include <string.h>

static enum mt_rc nomem(struct mt_err *err)
{
    return mt_fail(
        err, MT_ENOMEM,
        "out of memory after %llu MiB while analysing (a limit can be raised with --max-memory)",
        (unsigned long long)(mt_mem_used() >> 20));
}

/* Bytes at the focus by phase of birth, and what rounding adds to them. */
static int fill_rows(struct mt_replay *r, const struct mt_live_set *live)
{
    enum { STEP = 512 }; /* kMinBlockSize in c10/cuda/CUDACachingAllocator.cpp */
    for (uint32_t i = 0; i < live->n; i++) {
        uint32_t row = mt_replay_row(r, live->p[i].attr);
        if (row == UINT32_MAX)
            return 0;
        r->out->phases.p[row].at_focus += live->p[i].size;
        r->out->focus_rounded += (STEP - live->p[i].size % STEP) % STEP;
    }
    r->out->n_at_focus = live->n;
    return 1;
}

static void reset_run(struct mt_device_analysis *o)
{
    mt_timeline_done(&o->timeline);
    mt_timeline_done(&o->by_event);
    for (uint32_t i = 0; i < o->phases.n; i++)
        o->phases.p[i].peak_inside = o->phases.p[i].retained = 0;
    o->live_peak = o->live_end;
    o->reserved_peak = o->reserved_end;
    o->pending_peak = o->pending_end;
    o->live_start = o->pending_start = o->reserved_start = 0;
    o->peak_event = MT_NO_EVENT;
    o->peak_ns = 0;
    memset(o->birth_blocks, 0, sizeof o->birth_blocks);
    memset(o->birth_bytes, 0, sizeof o->birth_bytes);
}

/* OOM events of a trace whose curve is withheld: what each says by itself. */
static int lone_ooms(struct mt_replay *r)
{
    struct mt_device_analysis *o = r->out;
    for (uint32_t i = 0; i < o->ooms.n; i++)
        mt_free(o->ooms.p[i].label);
    o->ooms.n = o->oom_counts = 0;
    mt_addrmap_done(&r->label_of);
    for (uint64_t i = 0; i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_OOM && mt_replay_add_oom(r, e, i) == NULL)
            return 0;
    }
    return 1;
}

static int focus_on(struct mt_replay *r, struct mt_phaser *ph)
{
    struct mt_device_analysis *o = r->out;
    struct mt_live_set live = {NULL, 0, 0};
    const uint64_t no_pool[2] = {0, 0};
    int rc = 0;
    if (o->withheld != NULL) {
        o->focus.event = MT_NO_EVENT;
        o->focus.live = o->live_end;
        o->focus.reserved = o->reserved_end;
        o->focus.pending = o->pending_end;
        rc = mt_replay_live_end(r, ph, &live) && fill_rows(r, &live) && mt_owners(r, &live, o);
        goto out;
    }
    if (o->ooms.n != 0) {
        const struct mt_event *e = mt_event_at(r->d, o->ooms.p[0].event);
        o->focus_is_oom = true;
        if (!mt_replay_live_at(r, ph, (int64_t)o->ooms.p[0].event, &live) ||
            !mt_holes(r, &live, e->size, o->ooms.p[0].stream, (e->flags & MT_EV_POOL_KNOWN) != 0,
                      r->t->lanes.p[e->lane].pool, &o->ooms.p[0].at))
            goto out;
        o->focus = o->ooms.p[0].at;
        o->focus_attr = o->ooms.p[0].attr;
    } else {
        o->focus.event = o->peak_event;
        o->focus.live = o->live_peak;
        if (!mt_replay_live_at(r, ph, o->peak_event, &live) ||
            !mt_holes(r, &live, 0, 0, false, no_pool, &o->focus))
            goto out;
        if (o->peak_event >= 0) {
            o->focus.time_ns = o->peak_ns;
            o->focus_attr = r->attr[o->peak_event];
        }
    }
    if (o->focus.event >= 0 && o->focus.event != MT_NO_EVENT) {
        o->focus_addr = mt_event_at(r->d, (uint64_t)o->focus.event)->addr;
        o->focus_stack = mt_event_at(r->d, (uint64_t)o->focus.event)->stack;
    }
    rc = fill_rows(r, &live) && mt_owners(r, &live, o);
out:
    mt_free(live.p);
    return rc;
}

/* What was never allocated in the trace still has a confidence: that of the blocks at the focus. */
static void confidence_of_state(struct mt_device_analysis *o)
{
    if (o->alloc_bytes != 0)
        return;
    for (uint32_t i = 0; i < o->phases.n; i++) {
        const struct mt_phase_row *p = &o->phases.p[i];
        bool known = p->phase != MT_PH_UNATTRIBUTED || p->sub != MT_PH_NONE;
        o->by_conf[known ? MT_CONF_MARKED : MT_CONF_NONE] += p->at_focus;
        if (!known)
            o->unattributed_bytes += p->at_focus;
    }
}

static void check_annotations(struct mt_analysis *a, const struct mt_device *d,
                              const struct mt_attr *attr)
{
    static const char want[] = "Optimizer.step#";
    const struct mt_trace *t = a->trace;
    uint32_t k = 0;
    bool any = false;
    for (uint32_t i = 0; i < t->ranges.n && !any; i++)
        any = strncmp(mt_str(t, t->ranges.p[i].name), want, sizeof want - 1) == 0;
    for (uint64_t i = 0; any && i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        uint64_t ns = mt_event_ns(d, i);
        if (e->action != MT_ACT_ALLOC || ns == 0)
            continue;
        while (k < t->ranges.n &&
               (strncmp(mt_str(t, t->ranges.p[k].name), want, sizeof want - 1) != 0 ||
                t->ranges.p[k].t0_ns == 0 || t->ranges.p[k].t1_ns < ns ||
                t->ranges.p[k].device != d->ordinal))
            k++;
        if (k == t->ranges.n)
            break;
        if (t->ranges.p[k].t0_ns <= ns) {
            a->annotation_checked++;
            a->annotation_agreed +=
                attr[i].sub == MT_PH_OPTIMIZER || attr[i].sub == MT_PH_OPTIM_STATE_INIT;
        }
    }
}

static int check_roles(const struct mt_device_analysis *o, struct mt_err *err)
{
    if (o->roles.first_bad_event == MT_NO_EVENT)
        return 1;
    mt_fail(err, MT_EINTERN,
            "internal error: after event %lld of device %d the bytes of the roles do not add up to "
            "the live bytes; please report "
            "this with the output of 'memtrace info'",
            (long long)o->roles.first_bad_event, (int)o->ordinal);
    return 0;
}

/* Why, and the checks of what occurs: while the fates of all blocks are there. */
static int find_cause(struct mt_device_analysis *o, const struct mt_roles *w, struct mt_phaser *ph,
                      const struct mt_analyze_opts *opt, const struct mt_frameworks *fw)
{
    bool ok;
    o->cause = mt_calloc(1, sizeof *o->cause);
    o->audits = mt_calloc(1, sizeof *o->audits);
    o->expected = mt_calloc(1, sizeof *o->expected);
    ok = o->cause != NULL && o->audits != NULL && o->expected != NULL &&
         mt_cause_make(o->cause, w, &o->roles, o, ph, opt->roles) == MT_OK &&
         mt_audits_make(o->audits, w, &o->roles, o, ph) == MT_OK &&
         mt_expected_make(o->expected, w, o, fw, opt->conf) == MT_OK;
    if (ok) {
        o->one_unit = o->audits->one_unit;
        o->kept_gathers = o->audits->kept_gathers;
    }
    return ok;
}

/* A card that is smaller than what was on it is another job's. An engine that sleeps, and a trainer
 * that makes room for one, are in PyTorch's books all the same: what they held, or what may have
 * been there a second time. */
static void check_capacity(struct mt_device_analysis *o, const struct mt_frameworks *fw)
{
    const uint64_t *held_by = o->roles.made ? o->roles.peak : o->roles.at_focus;
    uint64_t engine = held_by[MT_ROLE_KV_CACHE] + held_by[MT_ROLE_ENGINE_WEIGHTS];
    uint64_t rounding = o->capacity / 32; /* of print */
    bool may_sleep =
        engine != 0 || fw->engine != MT_FW_NONE || mt_framework_is_rl(fw->rules, fw->main);
    uint64_t again = engine > o->capacity ? engine : o->capacity;
    uint64_t most = o->capacity + rounding + (may_sleep ? again : 0);
    /* what is cached goes back where a card is smaller: what is live does not */
    bool fits = o->capacity == 0 || o->live_peak <= most;
    for (uint32_t i = 0; fits && o->capacity != 0 && i < o->ooms.n; i++)
        fits = o->ooms.p[i].device_free <= o->capacity + rounding;
    if (fits)
        return;
    o->not_capacity = o->capacity;
    o->capacity = 0;
}

/* After each of the passes over the events, which take about as long as each other. */
enum { PASSES = 5 };
static void tell(const struct mt_analyze_opts *opt, const struct mt_device *d, unsigned passes)
{
    if (opt->progress.f != NULL)
        opt->progress.f(opt->progress.arg, d->events.n / PASSES * passes, d->events.n);
}

static int analyze_device(struct mt_analysis *a, uint32_t index, const struct mt_analyze_opts *opt,
                          struct mt_phaser *ph, struct mt_err *err)
{
    const struct mt_device *d = &a->trace->devices.p[index];
    struct mt_phase_opts po = {.use_annotations = !opt->ignore_annotations};
    struct mt_device_analysis *o = MT_VEC_PUSH(&a->devices);
    struct mt_replay r = {.t = a->trace, .device = index, .d = d};
    struct mt_roles roles = {.r = NULL};
    struct mt_attr *attr = NULL;
    int rc = 0;
    if (o == NULL)
        return 0;
    o->device = index;
    o->ordinal = d->ordinal;
    o->kind = d->kind;
    o->sums_only = d->has_totals;
    o->n_events = d->events.n;
    o->capacity = d->kind == MT_DEV_CUDA ? opt->capacity : 0;
    o->peak_event = MT_NO_EVENT;
    tell(opt, d, 0);
    if (d->events.n != 0) {
        o->first_ns = mt_event_ns(d, 0);
        o->last_ns = mt_event_ns(d, d->events.n - 1);
        attr = mt_malloc_big((size_t)d->events.n * sizeof *attr);
        if (attr == NULL || mt_phaser_run(ph, index, &po, attr, err) < 0)
            goto out;
    }
    r.attr = attr;
    r.out = o;
    tell(opt, d, 1);
    if (!mt_names_make(&r.names, a->trace, index) || !mt_replay_anchor(&r) ||
        !mt_roles_begin(&roles, &r) || (o->withheld == NULL && !mt_replay_run(&r, ph)))
        goto out;
    tell(opt, d, 2);
    if (o->withheld != NULL) {
        reset_run(o);
        if (!lone_ooms(&r))
            goto out;
    }
    o->end_state_only = o->n_allocs == 0;
    if (mt_roles_make(&roles, &o->roles, &r, ph, opt->roles, opt->verify) < 0 ||
        !check_roles(o, err))
        goto out;
    mt_role_curve_take(&o->curve, &roles);
    tell(opt, d, 3);
    if (!focus_on(&r, ph))
        goto out;
    if (!o->focus_is_oom)
        o->focus.reserved_free =
            o->focus.reserved > o->focus.live ? o->focus.reserved - o->focus.live : 0;
    confidence_of_state(o);
    check_annotations(a, d, attr);
    check_capacity(o, &a->fw);
    rc = mt_pools(a->trace, ph, o) && find_cause(o, &roles, ph, opt, &a->fw);
    tell(opt, d, 4);
    if (rc != 0 && opt->detail.f != NULL)
        rc = opt->detail.f(opt->detail.arg, &roles, attr, ph, o, err);
out:
    mt_roles_done(&roles);
    mt_free(attr);
    mt_replay_done(&r);
    return rc;
}

enum mt_rc mt_analyze(struct mt_analysis **out, const struct mt_trace *t,
                      const struct mt_analyze_opts *opt, struct mt_err *err)
{
    struct mt_analysis *a = mt_calloc(1, sizeof *a);
    struct mt_phaser *ph = NULL;
    struct mt_role_rules *roles = NULL;
    struct mt_analyze_opts with_roles = *opt;
    bool changed;
    enum mt_rc rc;
    *out = NULL;
    if (err != NULL)
        err->rc = MT_OK;
    if (a == NULL)
        return nomem(err);
    a->trace = t;
    if (!mt_frameworks_detect(mt_phase_rules_frameworks(opt->phases), t, &a->fw)) {
        rc = nomem(err);
        goto out;
    }
    if (opt->framework >= 0) {
        a->fw.main = (mt_fw)opt->framework;
        a->fw.forced = true;
    } else if (a->fw.main == MT_FW_NONE && a->fw.engine == MT_FW_NONE && opt->conf != NULL &&
               mt_runconf_by_keys(opt->conf) && mt_trace_runs_script(t)) {
        a->fw.own_script = true;
    } else if (a->fw.main == MT_FW_NONE &&
               mt_runconf_run(opt->conf) >= 0) { /* an engine's process has no frame of it */
        a->fw.main = (mt_fw)mt_runconf_run(opt->conf);
        a->fw.by_settings = true;
    }
    rc = mt_phaser_new(&ph, opt->phases, t, err);
    if (rc != MT_OK)
        goto out;
    if (opt->roles == NULL) {
        rc = mt_role_rules_load(&roles, NULL, 0, NULL, err);
        if (rc < 0)
            goto out;
        with_roles.roles = roles;
    }
#ifndef NDEBUG
    with_roles.verify = true;
#endif
    for (uint32_t i = 0; i < t->devices.n; i++) {
        if (opt->only_device >= 0 && t->devices.p[i].ordinal != opt->only_device)
            continue;
        if (!analyze_device(a, i, &with_roles, ph, err)) {
            rc = err != NULL && err->rc != MT_OK ? err->rc : nomem(err);
            goto out;
        }
        if (!opt->verify) /* a debug build checks all the same, but says the same as any other */
            a->devices.p[a->devices.n - 1].roles.verified_events = 0;
    }
    if (!mt_verdict_make(a)) {
        rc = nomem(err);
        goto out;
    }
    if (!mt_cause_skew(a, a->verdict.device, &a, 1, &changed)) {
        rc = nomem(err);
        goto out;
    }
    rc = mt_advise(a, opt->fixes, opt->conf, err);
out:
    mt_role_rules_free(roles);
    mt_phaser_free(ph);
    if (rc < 0) {
        if (rc == MT_ENOMEM && (err == NULL || err->rc == MT_OK))
            nomem(err);
        mt_analysis_free(a);
        return rc;
    }
    *out = a;
    return MT_OK;
}

void mt_device_analysis_done(struct mt_device_analysis *o)
{
    mt_free(o->withheld);
    for (uint32_t i = 0; i < o->ooms.n; i++)
        mt_free(o->ooms.p[i].label);
    for (uint32_t i = 0; i < o->owners.n; i++)
        mt_free(o->owners.p[i].label);
    for (uint32_t i = 0; i < o->pools.n; i++)
        mt_free(o->pools.p[i].label);
    for (uint32_t i = 0; i < o->pools_at.n; i++)
        mt_free(o->pools_at.p[i].label);
    MT_VEC_DONE(&o->ooms);
    MT_VEC_DONE(&o->owners);
    MT_VEC_DONE(&o->by_stack);
    MT_VEC_DONE(&o->phases);
    MT_VEC_DONE(&o->pools);
    MT_VEC_DONE(&o->pools_at);
    mt_role_curve_done(&o->curve);
    mt_role_facts_done(&o->roles);
    if (o->cause != NULL)
        mt_cause_done(o->cause);
    if (o->audits != NULL)
        mt_audits_done(o->audits);
    mt_free(o->cause);
    mt_free(o->audits);
    if (o->expected != NULL)
        mt_expected_done(o->expected);
    mt_free(o->expected);
    o->withheld = NULL;
    o->cause = NULL;
    o->audits = NULL;
    o->expected = NULL;
    mt_timeline_done(&o->timeline);
    mt_timeline_done(&o->by_event);
}

void mt_analysis_free(struct mt_analysis *a)
{
    if (a == NULL)
        return;
    for (uint32_t i = 0; i < a->devices.n; i++)
        mt_device_analysis_done(&a->devices.p[i]);
    MT_VEC_DONE(&a->devices);
    mt_advice_list_done(&a->advice);
    mt_free(a->combined.sentence);
    mt_free(a->verdict.sentence);
    mt_free(a->verdict.because);
    mt_free(a);
}
