/* run/lead.c -- which of snapshot, driver and log speaks for the whole, and whose advice stands
 * with it. */
#include "analysis/run/diagnose.h"

#include <string.h>

/* A snapshot's failure and the driver's are one within that time. */
#define SAME_MOMENT UINT64_C(10000000000)

const struct mt_rank *mt_diagnosis_rank(const struct mt_diagnosis *d)
{
    return d->primary < d->ranks.n ? &d->ranks.p[d->primary] : NULL;
}

static uint64_t oom_time(const struct mt_analysis *a)
{
    const struct mt_device_analysis *d =
        a->verdict.device < a->devices.n ? &a->devices.p[a->verdict.device] : NULL;
    return d != NULL && a->verdict.oom < d->ooms.n ? d->ooms.p[a->verdict.oom].time_ns : 0;
}

/* What the host does to a process, no driver call sees: where none failed, the log has the answer.
 */
static bool log_leads(const struct mt_diagnosis *d)
{
    if (d->ranks.n != 0 || d->logdiag == NULL)
        return false;
    return d->driver == NULL ||
           (d->driver->kind != MT_V_OOM &&
            (d->logdiag->cause == MT_CAUSE_HOST || d->logdiag->cause == MT_CAUSE_KILLED));
}

/* The snapshot's peak is none of the device: much of it was unmapped by then. */
static bool is_peak_of_books(const struct mt_diagnosis *d)
{
    for (uint32_t i = 0; i < d->driver->books_peaks.n; i++)
        if (d->driver->books_peaks.p[i].rank == d->primary &&
            mt_books_peak_counts(&d->driver->books_peaks.p[i]))
            return true;
    return false;
}

static bool driver_leads(const struct mt_diagnosis *d, const struct mt_rank *k)
{
    const struct mt_driver_oom *o;
    bool snapshot_failed = k != NULL && mt_verdict_is_oom(k->analysis->verdict.kind);
    uint64_t t;
    if (d->driver == NULL)
        return false;
    if (k == NULL)
        return true;
    if (d->driver->kind == MT_V_PEAK && !snapshot_failed && is_peak_of_books(d))
        return true;
    if (d->driver->host.kills != 0 && !snapshot_failed)
        return true;
    if (d->driver->kind != MT_V_OOM)
        return false;
    if (!snapshot_failed)
        return true;
    o = &d->driver->ooms.p[d->driver->oom];
    t = oom_time(k->analysis);
    if (o->who == MT_HOLD_TORCH || t == 0)
        return false;
    return t > o->time_ns + SAME_MOMENT || o->time_ns > t + SAME_MOMENT;
}

enum mt_lead mt_diagnosis_lead(const struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    return log_leads(d)         ? MT_LEAD_LOG
           : driver_leads(d, k) ? MT_LEAD_DRIVER
           : k != NULL          ? MT_LEAD_SNAPSHOT
                                : MT_LEAD_NOTHING;
}

const char *mt_diagnosis_sentence(const struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    enum mt_lead lead = mt_diagnosis_lead(d);
    return lead == MT_LEAD_LOG      ? d->logdiag->sentence
           : lead == MT_LEAD_DRIVER ? d->driver->sentence
           : k != NULL              ? k->analysis->verdict.sentence
                                    : "";
}

const struct mt_device_analysis *mt_rank_device(const struct mt_rank *k)
{
    if (k == NULL || k->analysis->verdict.device >= k->analysis->devices.n)
        return NULL;
    return &k->analysis->devices.p[k->analysis->verdict.device];
}

const struct mt_device_analysis *mt_diagnosis_device(const struct mt_diagnosis *d)
{
    return mt_rank_device(mt_diagnosis_rank(d));
}

const struct mt_cause *mt_diagnosis_cause(const struct mt_diagnosis *d, struct mt_cause_told *told)
{
    const struct mt_device_analysis *device = mt_diagnosis_device(d);
    enum mt_lead lead = mt_diagnosis_lead(d);
    *told = (struct mt_cause_told){.known = false};
    if (lead == MT_LEAD_LOG)
        mt_cause_of_log(told, d->logdiag);
    else if (lead == MT_LEAD_DRIVER)
        mt_cause_of_driver(told, d->driver);
    else if (device != NULL)
        return device->cause;
    return NULL;
}

bool mt_diagnosis_failed(const struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    return (k != NULL && mt_verdict_is_oom(k->analysis->verdict.kind)) ||
           (d->driver != NULL && mt_driver_failed(d->driver)) ||
           (d->logdiag != NULL && d->logdiag->cause != MT_CAUSE_NONE);
}

const char *mt_capacity_from_name(enum mt_capacity_from from)
{
    static const char *const names[] = {
        [MT_CAPACITY_UNKNOWN] = NULL,         [MT_CAPACITY_GIVEN] = "option",
        [MT_CAPACITY_DRIVER] = "driver",      [MT_CAPACITY_LOG] = "log",
        [MT_CAPACITY_RECORDED] = "recording", [MT_CAPACITY_CONFIG] = "config"};
    return names[from];
}

enum mt_answer mt_diagnosis_out_of_memory(const struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    enum mt_cause_kind log = d->logdiag != NULL ? d->logdiag->cause : MT_CAUSE_NONE;
    if ((k != NULL && mt_verdict_is_oom(k->analysis->verdict.kind)) ||
        (d->driver != NULL && mt_driver_failed(d->driver)))
        return MT_YES;
    if (log == MT_CAUSE_KILLED)
        return MT_MAYBE;
    if (log != MT_CAUSE_NONE)
        return log == MT_CAUSE_SETTING ? MT_NO : MT_YES;
    return !d->quality.damaged && ((k != NULL && k->analysis->verdict.kind == MT_V_PEAK) ||
                                   (d->driver != NULL && d->driver->kind == MT_V_PEAK))
               ? MT_NO
               : MT_MAYBE;
}

void mt_diagnosis_advised_phase(const struct mt_diagnosis *d, enum mt_phase *phase,
                                enum mt_phase *sub)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    *phase = MT_PH_UNATTRIBUTED;
    *sub = MT_PH_NONE;
    if (mt_diagnosis_driver_advises(d) && d->driver->kind == MT_V_OOM) {
        *phase = d->driver->ooms.p[d->driver->oom].phase;
        *sub = d->driver->ooms.p[d->driver->oom].sub;
    } else if (mt_diagnosis_lead(d) == MT_LEAD_LOG) {
        *phase = d->logdiag->phase;
        *sub = d->logdiag->sub;
    } else if (k != NULL) {
        *phase = k->analysis->verdict.phase;
        *sub = k->analysis->verdict.sub;
    }
}

bool mt_diagnosis_driver_advises(const struct mt_diagnosis *d)
{
    return mt_diagnosis_lead(d) == MT_LEAD_DRIVER && mt_driver_failed(d->driver) &&
           d->driver_advice.n != 0;
}

bool mt_diagnosis_trips(const struct mt_diagnosis *d, const struct mt_lint_finding *f)
{
    for (uint32_t i = 0; d->lint != NULL && i < d->lint->findings.n; i++)
        if (strcmp(d->lint->findings.p[i].id, f->id) == 0 &&
            strcmp(d->lint->findings.p[i].sentence, f->sentence) == 0)
            return false;
    return true;
}

const struct mt_advice_list *mt_diagnosis_advice_list(const struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    return mt_diagnosis_driver_advises(d)        ? &d->driver_advice
           : k != NULL                           ? &k->analysis->advice
           : mt_diagnosis_lead(d) == MT_LEAD_LOG ? &d->log_advice
                                                 : NULL;
}

const struct mt_advice *mt_diagnosis_advice(const struct mt_diagnosis *d, uint32_t *n)
{
    const struct mt_advice_list *list = mt_diagnosis_advice_list(d);
    *n = list != NULL ? list->n : 0;
    return list != NULL ? list->p : NULL;
}

const struct mt_combined *mt_diagnosis_combined(const struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    return k != NULL && !mt_diagnosis_driver_advises(d) ? &k->analysis->combined : NULL;
}
