/* log/unfailed.c -- a short text without a failure's line, as people paste it with a question: what
 * it shows runs, and what would be changed first if memory ran out behind it. */
#include "analysis/log/diagnose.h"
#include "analysis/setup/settings.h"

#include <string.h>

enum { SHORT = 60 }; /* lines of a text that is a part of a log */

enum mt_phase mt_logdiag_engine_starts(const struct mt_log *log)
{
    const struct mt_log_fact *last = NULL;
    for (uint32_t i = 0; i < log->facts.n; i++)
        if (mt_log_is_of_start(log->facts.p[i].kind) ||
            log->facts.p[i].kind == MT_LOG_TORCH_USAGE || log->facts.p[i].kind == MT_LOG_SLEEP)
            last = &log->facts.p[i];
    return last != NULL && mt_log_is_of_start(last->kind) ? MT_PH_ROLLOUT_INIT : MT_PH_UNATTRIBUTED;
}

/* Nothing but lines of how memory was used, and at least one of them. */
static bool only_use(const struct mt_log *log)
{
    for (uint32_t i = 0; i < log->facts.n; i++) {
        enum mt_log_kind k = log->facts.p[i].kind;
        if (!mt_log_is_of_start(k) && k != MT_LOG_TORCH_USAGE && k != MT_LOG_SLEEP &&
            k != MT_LOG_HOST_USAGE)
            return false;
    }
    return log->facts.n != 0;
}

/* Which program's keys would be typed. */
static bool knows_program(const struct mt_logs *logs, const struct mt_logdiag_opts *o)
{
    const struct mt_log *log = &logs->files.p[0].log;
    if (o->framework >= 0 || mt_runconf_run(o->conf) >= 0)
        return true;
    for (uint32_t i = 0; i < log->facts.n; i++)
        if (mt_framework_of_log_line(logs->rules, mt_log_kind_name(log->facts.p[i].kind)) !=
            MT_FW_NONE)
            return true;
    return false;
}

bool mt_logdiag_unfailed(struct mt_logdiag *d, const struct mt_logs *logs,
                         const struct mt_logdiag_opts *o, struct mt_advice_list *list)
{
    const struct mt_log *log = logs->files.n == 1 ? &logs->files.p[0].log : NULL;
    struct mt_logdiag asked;
    struct mt_log_fact f = {.kind = MT_LOG_TORCH_OOM, .gpu = -1, .rank = -1, .pid = -1};
    if (log == NULL || log->n_lines > SHORT || log->truncated || !only_use(log) ||
        !knows_program(logs, o))
        return true;
    if (log->facts.p[log->facts.n - 1].line + 2 < log->n_lines)
        return true; /* it went on */
    for (int i = 0; i < MT_LOG_VALUES; i++)
        f.value[i] = MT_LOG_NONE;
    memcpy(f.text, "talk", sizeof "talk");
    asked = *d;
    asked.file = 0;
    asked.fact = log->facts.n - 1;
    asked.cause = MT_CAUSE_UNKNOWN;
    asked.phase = mt_logdiag_engine_starts(log);
    if (!mt_logdiag_advise(list, &asked, logs, o, &f, NULL))
        return false;
    for (uint32_t i = 0; i < list->n && !d->asks; i++)
        d->asks = list->p[i].is_top;
    return true;
}
