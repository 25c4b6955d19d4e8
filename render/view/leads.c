/* Which of snapshot, driver and log has the headline, and what follows from that: the advice, and
 * what the others say beside it. */
#include "render/view/driver.h"
#include "render/view/run.h"

#include <stddef.h>

/* A snapshot's failure and the driver's belong together within that time. */
#define SAME_MOMENT UINT64_C(10000000000)

bool mt_report_log_leads(const struct mt_report *r)
{
    if (r->n_ranks != 0 || r->diag == NULL)
        return false;
    /* What the host does to a process, no driver call sees: where none failed, the log has the
     * answer. */
    return r->driver == NULL || (r->driver->kind != MT_DV_OOM &&
                                 (r->diag->cause == MT_LC_HOST || r->diag->cause == MT_LC_KILLED));
}

static uint64_t oom_time(const struct mt_rank *k)
{
    const struct mt_verdict *v = &k->analysis->verdict;
    const struct mt_device_analysis *d = mt_verdict_device(k);
    return d != NULL && v->oom < d->ooms.n ? d->ooms.p[v->oom].time_ns : 0;
}

bool mt_report_driver_leads(const struct mt_report *r)
{
    const struct mt_rank *k = mt_report_rank(r);
    const struct mt_driver_oom *o;
    uint64_t t;
    if (r->driver == NULL || mt_report_log_leads(r))
        return false;
    if (k == NULL)
        return true;
    if (r->driver->kind == MT_DV_PEAK && !mt_verdict_is_oom(k->analysis->verdict.kind))
        for (uint32_t i = 0; i < r->driver->books_peaks.n; i++)
            if (r->driver->books_peaks.p[i].rank == r->primary &&
                mt_books_peak_counts(&r->driver->books_peaks.p[i]))
                return true;
    if (r->driver->kind != MT_DV_OOM)
        return false;
    if (!mt_verdict_is_oom(k->analysis->verdict.kind))
        return true;
    o = &r->driver->ooms.p[r->driver->oom];
    t = oom_time(k);
    if (o->who == MT_HOLD_TORCH || t == 0)
        return false;
    return t > o->time_ns + SAME_MOMENT || o->time_ns > t + SAME_MOMENT;
}

const char *mt_report_second(const struct mt_report *r)
{
    return r->driver != NULL && !mt_report_driver_leads(r) && r->driver->kind != MT_DV_NONE
               ? r->driver->sentence
               : NULL;
}

bool mt_report_driver_advises(const struct mt_report *r)
{
    return mt_report_driver_leads(r) && r->driver->kind == MT_DV_OOM && r->driver->advice.n != 0;
}

const struct mt_combined *mt_report_after(const struct mt_report *r)
{
    const struct mt_rank *k = mt_report_rank(r);
    return k != NULL && !mt_report_driver_advises(r) ? &k->analysis->combined : NULL;
}

static bool failed(const struct mt_report *r)
{
    const struct mt_rank *k = mt_report_rank(r);
    return (k != NULL && mt_verdict_is_oom(k->analysis->verdict.kind)) ||
           (r->driver != NULL && r->driver->kind == MT_DV_OOM) ||
           (r->diag != NULL && r->diag->cause != MT_LC_NONE);
}

const char *mt_report_first(const struct mt_report *r)
{
    const struct mt_rank *k = mt_report_rank(r);
    if (k == NULL || failed(r))
        return "Change first";
    return k->analysis->verdict.kind == MT_V_END_STATE ? "To lower what is held"
                                                       : "To lower this peak";
}

const char *mt_report_no_first(const struct mt_report *r)
{
    uint32_t n;
    const struct mt_advice *list = mt_report_advice(r, &n);
    for (uint32_t i = 0; i < n; i++)
        if (list[i].is_top)
            return NULL;
    if (!failed(r))
        return NULL;
    return r->n_ranks != 0 || r->driver != NULL
               ? "No setting that memtrace knows would surely have helped here. Begin with the "
                 "largest holder: what allocated it stands below."
               : "No setting that memtrace knows would surely have helped here. A snapshot of "
                 "the failure names the holders.";
}

const struct mt_advice *mt_report_advice(const struct mt_report *r, uint32_t *n)
{
    const struct mt_rank *k = mt_report_rank(r);
    if (mt_report_driver_advises(r)) {
        *n = r->driver->advice.n;
        return r->driver->advice.p;
    }
    *n = k != NULL ? k->analysis->advice.n : mt_report_log_leads(r) ? r->diag->advice.n : 0;
    return k != NULL ? k->analysis->advice.p : mt_report_log_leads(r) ? r->diag->advice.p : NULL;
}

const char *mt_report_log_second(const struct mt_report *r)
{
    return r->diag != NULL && !mt_report_log_leads(r) && r->diag->cause != MT_LC_NONE
               ? r->diag->sentence
               : NULL;
}

const char *mt_report_same_job(const struct mt_report *r)
{
    return r->same_job == NULL             ? NULL
           : r->same_job->sentence != NULL ? r->same_job->sentence
                                           : r->same_job->elsewhere;
}
