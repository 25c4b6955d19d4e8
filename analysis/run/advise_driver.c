/* run/advise_driver.c -- advice on a failure that the driver's trace shows: who asked and who held
 * the card, without the roles of a snapshot. */
#include "analysis/run/advise_driver.h"

#include "analysis/advice/advice.h"
#include "analysis/metrics/metrics.h"
#include "analysis/run/cause.h"
#include "analysis/run/lint.h"

#include <string.h>

#define FOREIGN_LEAST (UINT64_C(2) << 30) /* less is what contexts of other ranks take */

static mt_fw engine_of(const struct mt_framework_rules *r, const struct mt_driver_oom *o)
{
    return o->who == MT_HOLD_ENGINE && o->library != NULL ? mt_framework_of_allocator(r, o->library)
                                                          : MT_FW_NONE;
}

/* Phase and sub-phase whose remedies fit. */
static void place(struct mt_advice_query *q, const struct mt_driver_oom *o)
{
    q->phase = o->phase;
    /* a collective is one whatever phase it serves */
    q->sub = o->who == MT_HOLD_NCCL ? MT_PH_COMM : o->sub;
    if (o->who == MT_HOLD_NCCL && mt_phase_is(o->phase, MT_OF_ENGINE))
        q->phase = MT_PH_UNATTRIBUTED;
    if (o->who == MT_HOLD_ENGINE && q->phase == MT_PH_UNATTRIBUTED)
        q->phase = MT_PH_ROLLOUT_GENERATE;
    mt_metrics_place(q->metrics, q->phase, q->sub);
}

/* What the driver's calls tell; where the GPU is known its books say who held it, so that nothing
 * is a number too. */
static void fill(struct mt_advice_query *q, const struct mt_driverdiag *j,
                 const struct mt_driver_oom *o)
{
    const struct mt_ledger *l = o->ledger != MT_NONE32 ? &j->ledgers.p[o->ledger] : NULL;
    struct mt_metrics *m = q->metrics;
    struct mt_cause_told cause;
    uint64_t foreign = o->held[MT_HOLD_OTHER], contexts = 0, largest,
             torch = o->held[MT_HOLD_TORCH] > j->idle ? o->held[MT_HOLD_TORCH] - j->idle : 0;
    mt_cause_of_driver(&cause, j);
    if (l != NULL && mt_bare_contexts(l, &contexts, &largest) == 0)
        contexts = 0;
    mt_metrics_set(m, MT_METRIC_oom, 1, MT_CONF_MARKED);
    mt_metrics_set(m, MT_METRIC_unsized, o->request == 0, MT_CONF_MARKED);
    mt_metrics_set(m, MT_METRIC_no_expandable, 0, MT_CONF_MARKED);
    mt_metrics_set(m, MT_METRIC_engine_failed, o->who == MT_HOLD_ENGINE, MT_CONF_MARKED);
    for (uint32_t i = 0; i < j->sleeps.n; i++)
        if (j->sleeps.p[i].who == MT_HOLD_ENGINE && !j->sleeps.p[i].is_wake)
            mt_metrics_set(m, MT_METRIC_sleeps, 1, MT_CONF_MARKED);
    if (l != NULL && l->capacity != 0)
        mt_metrics_set(m, MT_METRIC_capacity, (double)l->capacity, MT_CONF_MARKED);
    if (j->idle != 0) {
        mt_metrics_set(m, MT_METRIC_reserved_free, (double)j->idle, MT_CONF_INFERRED);
        mt_metrics_set(m, MT_METRIC_live, (double)torch, MT_CONF_INFERRED);
    }
    if (foreign != 0)
        mt_metrics_set(m, MT_METRIC_foreign, (double)foreign, MT_CONF_MARKED);
    if (l != NULL) {
        mt_metrics_set(m, MT_METRIC_others, (double)foreign, MT_CONF_MARKED);
        mt_metrics_set(m, MT_METRIC_contexts, (double)contexts, MT_CONF_MARKED);
    }
    q->cause = cause.kind == MT_CAUSE_FOREIGN && foreign + contexts < FOREIGN_LEAST ? MT_CAUSE_NONE
                                                                                    : cause.kind;
}

enum mt_rc mt_driverdiag_advise(struct mt_advice_list *list, const struct mt_driverdiag *j,
                                const struct mt_fix_rules *rules, const struct mt_runconf *conf,
                                int framework, struct mt_err *err)
{
    struct mt_frameworks fw;
    struct mt_advice_query q = {.rules = rules, .fw = &fw, .conf = conf};
    bool ok;
    if (rules == NULL || !mt_driver_failed(j))
        return MT_OK;
    memset(&fw, 0, sizeof fw);
    fw.rules = mt_fix_rules_frameworks(rules);
    fw.main = framework >= 0 ? (mt_fw)framework : MT_FW_NONE;
    if (j->kind == MT_V_OOM)
        fw.engine = engine_of(fw.rules, &j->ooms.p[j->oom]);
    if (fw.engine != MT_FW_NONE)
        fw.frames[fw.engine] = 1;
    ok = mt_metrics_told(&q.metrics, mt_fix_rules_metrics(rules), conf, NULL, true) == MT_OK;
    if (ok) {
        if (j->kind == MT_V_OOM) {
            place(&q, &j->ooms.p[j->oom]);
            fill(&q, j, &j->ooms.p[j->oom]);
        } else {
            q.cause = MT_CAUSE_HOST;
            mt_metrics_set(q.metrics, MT_METRIC_host_full, 1, MT_CONF_MARKED);
            mt_metrics_set(q.metrics, MT_METRIC_host_killed, 0, MT_CONF_MARKED);
        }
        ok = mt_advice_add(&q, list);
    }
    mt_metrics_free(q.metrics);
    return ok ? MT_OK : mt_fail(err, MT_ENOMEM, "out of memory while choosing advice");
}
