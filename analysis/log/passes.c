/* log/passes.c -- how much of a pass would have fitted, by the numbers of the failed line. */
#include "analysis/log/diagnose.h"
#include "analysis/metrics/metrics.h"

void mt_logdiag_of_pass(struct mt_metrics *m, const struct mt_logdiag *d, enum mt_phase phase)
{
    const double least = 0.05, room = 0.9; /* the pass asks for more than that once */
    double ratio;
    if (!mt_phase_is(phase, MT_SCORES) || d->request == MT_LOG_NONE || d->request == MT_LOG_EXA ||
        d->request == 0 || d->free == MT_LOG_NONE)
        return;
    ratio = room * (double)d->free / (double)d->request;
    if (ratio < 0.5)
        mt_metrics_set(m, MT_METRIC_token_ratio, ratio > least ? ratio : least, MT_CONF_INFERRED);
}
