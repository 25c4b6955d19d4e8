/* log/overcount.c -- PyTorch counts more than the card has: whether the driver keeps the rest in
 * the host's memory, or an engine's sleep unmapped it behind PyTorch's back. */
#include "analysis/log/diagnose.h"
#include "analysis/metrics/metrics.h"

#include <string.h>

bool mt_logdiag_on_windows(const struct mt_log *log)
{
    return log->n_windows > log->n_unix; /* a container's paths may be among Windows' */
}

/* Something in the job puts memory to sleep: its lines say so, or an engine is in it. */
static bool may_sleep(const struct mt_logs *logs, const struct mt_log_place *place)
{
    const struct mt_framework_rules *r = logs->rules;
    int fw = mt_logs_framework(logs);
    if (mt_logs_have(logs, MT_LOG_SLEEP) || mt_logs_have(logs, MT_LOG_CUMEM_OOM) ||
        mt_logs_have(logs, MT_LOG_SAVER_OOM))
        return true;
    if (fw >= 0 && (mt_framework_at(r, (mt_fw)fw)->kind == MT_FWK_RL ||
                    mt_framework_at(r, (mt_fw)fw)->kind == MT_FWK_ENGINE))
        return true;
    for (int i = 1; place != NULL && i < mt_framework_count(r); i++)
        if (place->fw.frames[i] != 0 && mt_framework_at(r, (mt_fw)i)->kind <= MT_FWK_ENGINE &&
            mt_framework_at(r, (mt_fw)i)->kind != MT_FWK_TUNER &&
            mt_framework_at(r, (mt_fw)i)->kind != MT_FWK_TRAINER)
            return true;
    return false;
}

void mt_logdiag_tell_overcount(struct mt_logdiag *d, const struct mt_logs *logs,
                               const struct mt_log_fact *f, const struct mt_log_place *place)
{
    uint64_t used = d->allocated != MT_LOG_NONE ? d->allocated : d->reserved;
    if (!mt_logdiag_overcounts(d))
        return;
    if (d->this_process != MT_LOG_NONE && d->this_process + MT_LOG_ROUNDED < used)
        return; /* the sentence itself says that the process has less */
    /* Engines that sleep came with a newer sentence than PyTorch 2.0's, and manage no memory that
     * cudaMallocAsync does. */
    d->is_spilled = mt_logdiag_on_windows(&logs->files.p[d->file].log) ||
                    (f->platform == 0 && (f->torch_at_most != 0 || strcmp(f->text, "async") == 0));
    d->is_asleep =
        !d->is_spilled && (d->others_named || may_sleep(logs, place)); /* Windows names nobody */
}
