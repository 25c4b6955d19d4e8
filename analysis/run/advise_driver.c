/* run/advise_driver.c -- advice on a failure that the driver's trace shows: who asked and who held
 * the card, without the roles of a snapshot. */
#include "analysis/run/advise_driver.h"

#include "analysis/advice/advice.h"
#include "analysis/run/cause.h"
#include "analysis/run/lint.h"

#include <string.h>

#define FOREIGN_LEAST (UINT64_C(2) << 30) /* less is what contexts of other ranks take */

static mt_fw engine_of(const struct mt_framework_rules *r, const struct mt_driver_oom *o)
{
    return o->who == MT_HOLD_ENGINE && o->library != NULL ? mt_framework_of_allocator(r, o->library)
                                                          : MT_FW_NONE;
}

static void ask_for(struct mt_advice_query *q, const struct mt_driverdiag *j,
                    const struct mt_driver_oom *o)
{
    struct mt_cause_other cause;
    uint64_t largest;
    mt_cause_of_driver(&cause, j);
    q->of_log = true;
    q->oom = true;
    q->phase = o->phase;
    /* a collective is one whatever phase it serves */
    q->sub = o->who == MT_HOLD_NCCL ? MT_PH_COMM : o->sub;
    if (o->who == MT_HOLD_NCCL && mt_phase_is(o->phase, MT_OF_ENGINE))
        q->phase = MT_PH_UNATTRIBUTED;
    q->engine_failed = o->who == MT_HOLD_ENGINE;
    if (q->engine_failed && q->phase == MT_PH_UNATTRIBUTED)
        q->phase = MT_PH_ROLLOUT_GENERATE;
    for (uint32_t i = 0; i < j->sleeps.n; i++)
        q->sleeps = q->sleeps || (j->sleeps.p[i].who == MT_HOLD_ENGINE && !j->sleeps.p[i].is_wake);
    q->capacity = o->ledger != MT_NONE32 ? j->ledgers.p[o->ledger].capacity : 0;
    q->cached = j->idle;
    q->torch_used = o->held[MT_HOLD_TORCH] > j->idle ? o->held[MT_HOLD_TORCH] - j->idle : 0;
    q->foreign = o->held[MT_HOLD_OTHER];
    q->ledger = o->ledger != MT_NONE32;
    if (q->ledger && mt_bare_contexts(&j->ledgers.p[o->ledger], &q->contexts, &largest) == 0)
        q->contexts = 0;
    q->others_hold = cause.kind == MT_CAUSE_FOREIGN && q->foreign + q->contexts >= FOREIGN_LEAST;
    q->leak = cause.kind == MT_CAUSE_LEAK;
    q->host_memory = o->is_host;
}

enum mt_rc mt_driverdiag_advise(struct mt_advice_list *list, const struct mt_driverdiag *j,
                                const struct mt_fix_rules *rules, const struct mt_runconf *conf,
                                int framework, struct mt_err *err)
{
    struct mt_frameworks fw;
    struct mt_advice_query q = {.rules = rules, .fw = &fw, .conf = conf};
    if (rules == NULL || j->kind != MT_V_OOM)
        return MT_OK;
    memset(&fw, 0, sizeof fw);
    fw.rules = mt_fix_rules_frameworks(rules);
    fw.main = framework >= 0 ? (mt_fw)framework : MT_FW_NONE;
    fw.engine = engine_of(fw.rules, &j->ooms.p[j->oom]);
    if (fw.engine != MT_FW_NONE)
        fw.frames[fw.engine] = 1;
    ask_for(&q, j, &j->ooms.p[j->oom]);
    return mt_advice_add(&q, list) ? MT_OK
                                   : mt_fail(err, MT_ENOMEM, "out of memory while choosing advice");
}
