/* logadvice.c -- advice on what a log says, without the numbers of a trace: conditions that need those are passed over. */
#include "analysis/advice.h"
#include "analysis/logdiag.h"
#include "analysis/metrics.h"

#include <string.h>

/* Paths in the lines tell the machine. */
static bool on_arm(const struct mt_logs *logs)
{
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->paths.n; k++) {
            if (mt_metric_arm_path(log->paths.p[k].path))
                return true;
        }
    }
    return false;
}

/* What the line says of engine and share. */
static void of_line(struct mt_advice_query *q, struct mt_frameworks *fw, const struct mt_log_fact *f)
{
    if (f->kind == MT_LOG_CUMEM_OOM || f->kind == MT_LOG_VLLM_STARTUP || f->kind == MT_LOG_VLLM_NO_KV)
        fw->engine = MT_FW_VLLM;
    else if (f->kind == MT_LOG_SGLANG_NO_KV)
        fw->engine = MT_FW_SGLANG;
    fw->frames[fw->engine] = fw->engine != MT_FW_NONE;
    q->kv_refused = f->kind == MT_LOG_VLLM_NO_KV || f->kind == MT_LOG_SGLANG_NO_KV;
    if (f->kind == MT_LOG_VLLM_STARTUP && f->value[0] != MT_LOG_NONE && f->value[1] != MT_LOG_NONE && f->value[1] != 0)
        q->startup_free = (double)f->value[0] / (double)f->value[1];
}

/* The run has expandable segments, as its settings say. */
static bool is_on(const struct mt_logdiag_opts *o, const struct mt_fix_rule *r)
{
    for (uint32_t k = 0; o->expandable && k < r->n_unless_settings; k++) {
        if (strcmp(r->unless_settings[k].a, "expandable_segments") == 0)
            return true;
    }
    return false;
}

bool mt_logdiag_advise(struct mt_logdiag *d, const struct mt_logs *logs, const struct mt_logdiag_opts *o,
                       const struct mt_log_fact *f)
{
    struct mt_frameworks fw;
    struct mt_advice_query q = {.rules = o->fixes, .fw = &fw, .phase = d->phase, .sub = d->sub, .conf = o->conf};
    struct mt_advice *list;
    uint32_t n;
    bool ok;
    if (o->fixes == NULL || d->cause == MT_LC_NONE || d->cause == MT_LC_SETTING)
        return true;
    memset(&fw, 0, sizeof fw);
    fw.main = o->framework >= 0 ? (enum mt_framework)o->framework : MT_FW_NONE;
    fw.engine = MT_FW_NONE;
    of_line(&q, &fw, f);
    q.arm = on_arm(logs);
    q.fragmentation = d->cause == MT_LC_FRAGMENTATION;
    q.host_memory = d->cause == MT_LC_HOST || d->cause == MT_LC_KILLED;
    list = mt_calloc(mt_fix_rules_count(o->fixes) + 1, sizeof *list);
    if (list == NULL)
        return false;
    n = mt_advice_select(&q, list);
    ok = n != UINT32_MAX;
    for (uint32_t i = 0; ok && i < n; i++) {
        struct mt_advice *slot = is_on(o, list[i].rule) ? NULL : MT_VEC_PUSH(&d->advice);
        ok = slot != NULL || is_on(o, list[i].rule);
        if (slot != NULL) {
            *slot = list[i];
            list[i].current = list[i].proposed_key = NULL; /* theirs now */
        }
    }
    for (uint32_t i = 0; n != UINT32_MAX && i < n; i++)
        mt_advice_done(&list[i]);
    mt_free(list);
    return ok;
}
