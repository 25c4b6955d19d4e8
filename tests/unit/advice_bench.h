/* advice_bench.h -- advice over numbers that a test makes up: bytes by role, a request that failed,
 * what the run was set to. */
#ifndef MT_ADVICE_BENCH_H
#define MT_ADVICE_BENCH_H

#include "analysis/advice/advice.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/settings.h"
#include "mt_test.h"
#include "frameworks.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

struct bench {
    struct mt_fix_rules *rules;
    struct mt_runconf *conf;
    struct mt_analysis a;
    struct mt_device_analysis *d;
};

static inline void setup(struct bench *b, const char *args, const char *overlay)
{
    struct mt_err err = {0};
    memset(b, 0, sizeof *b);
    MT_ASSERT(mt_fix_rules_load(&b->rules, mt_test_frameworks(), overlay,
                                overlay != NULL ? strlen(overlay) : 0, "mine.json", &err) == MT_OK);
    MT_ASSERT(mt_runconf_new(&b->conf, mt_test_frameworks(), &err) == MT_OK);
    if (args != NULL) {
        MT_ASSERT(mt_conf_args(&b->conf->conf, args, strlen(args), "--args", false, &err) == MT_OK);
        MT_ASSERT(mt_runconf_added(b->conf, MT_FROM_ARGS, &err) == MT_OK);
    }
    b->d = MT_VEC_PUSH(&b->a.devices);
    MT_ASSERT(b->d != NULL);
    b->d->roles.made = true;
    b->a.fw.rules = mt_test_frameworks();
    b->a.fw.main = FW(verl);
    mt_test_part(&b->a.fw, true, false);
    b->a.verdict.kind = MT_V_PEAK;
    b->a.verdict.phase = MT_PH_TRAIN_ACTOR;
    b->a.verdict.sub = MT_PH_BACKWARD;
}

static inline void role(struct bench *b, enum mt_role r, uint64_t bytes)
{
    b->d->focus.live += bytes - b->d->roles.at_focus[r];
    b->d->live_peak = b->d->focus.live;
    b->d->focus.reserved = b->d->focus.live + GIB;
    b->d->roles.at_focus[r] = bytes;
}

static inline void fail(struct bench *b, uint64_t request, uint64_t free)
{
    struct mt_oom *o = MT_VEC_PUSH(&b->d->ooms);
    MT_ASSERT(o != NULL);
    o->request = request;
    o->device_free = free;
    b->a.verdict.kind = MT_V_OOM_CAPACITY;
    b->d->focus_is_oom = true;
    b->d->focus.holes_known = true;
}

static inline void forget(struct bench *b)
{
    mt_advice_list_done(&b->a.advice);
    mt_free(b->a.combined.sentence);
    b->a.combined.sentence = NULL;
}

static inline void teardown(struct bench *b)
{
    forget(b);
    mt_runconf_free(b->conf);
    mt_fix_rules_free(b->rules);
    mt_role_facts_done(&b->d->roles);
    mt_role_curve_done(&b->d->curve);
    MT_VEC_DONE(&b->d->ooms);
    MT_VEC_DONE(&b->d->phases);
    MT_VEC_DONE(&b->d->owners);
    MT_VEC_DONE(&b->d->by_stack);
    MT_VEC_DONE(&b->a.devices);
}

static inline const struct mt_advice *advise(struct bench *b, const char *id)
{
    struct mt_err err = {0};
    forget(b);
    MT_CHECK_EQ(mt_advise(&b->a, b->rules, b->conf, &err), MT_OK);
    for (uint32_t i = 0; i < b->a.advice.n; i++)
        if (strcmp(b->a.advice.p[i].rule->id, id) == 0)
            return &b->a.advice.p[i];
    return NULL;
}

static inline double metric(struct bench *b, const char *name)
{
    struct mt_metrics *m = NULL;
    struct mt_value v;
    MT_CHECK_EQ(mt_metrics_make(&m, &b->a, b->d, mt_fix_rules_metrics(b->rules), b->conf), MT_OK);
    v = mt_metric_get(m, name, strlen(name));
    mt_metrics_free(m);
    return v.known ? v.v : -1;
}

#endif
