/* What snapshot, driver and log say beside the one that has the headline, and the words over its
 * advice. */
#include "render/view/driver.h"
#include "render/view/run.h"
#include "analysis/facts/cause.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *mt_report_second(const struct mt_report *r)
{
    return r->diagnosis->driver != NULL && mt_diagnosis_lead(r->diagnosis) != MT_LEAD_DRIVER &&
                   r->diagnosis->driver->kind != MT_V_EMPTY
               ? r->diagnosis->driver->sentence
               : NULL;
}

/* What ran, as far as it is known, is said; that its phase is not, too. */
static const char *weak(char buf[MT_FIRST], const struct mt_logdiag *d,
                        const struct mt_runconf *conf)
{
    enum { LONGEST = 24 }; /* of a program's name that leaves a heading of one line */
    static const char most[] = "To try first in most jobs: ";
    int run = mt_runconf_run(conf);
    if (run < 0 && conf != NULL && conf->framework > MT_FW_NONE)
        run = conf->framework; /* a library or an engine that somebody named */
    if (run >= 0)
        (void)snprintf(buf, MT_FIRST, "To try first: memtrace does not know the phase of %s",
                       mt_framework_at(conf->rules, run)->words);
    else if (d != NULL && d->program[0] != '\0' && strlen(d->program) <= LONGEST)
        (void)snprintf(buf, MT_FIRST, "%swhat %s was doing is not known", most, d->program);
    else if (d != NULL && d->program[0] != '\0')
        (void)snprintf(buf, MT_FIRST, "%swhat the program was doing is not known", most);
    else if (d != NULL && (d->site != NULL || d->sub != MT_PH_NONE))
        (void)snprintf(buf, MT_FIRST, "%sthe line that asked does not tell the phase", most);
    else
        (void)snprintf(buf, MT_FIRST, "%swhat ran here is not known", most);
    return buf;
}

const char *mt_report_first(char buf[MT_FIRST], const struct mt_report *r)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    if (k == NULL && r->diagnosis->logdiag != NULL && r->diagnosis->logdiag->asks)
        return "Change first, if memory ran out behind these lines";
    for (uint32_t i = 0; i < n; i++)
        if (list[i].is_top && list[i].any_phase)
            return list[i].is_weak ? weak(buf, r->diagnosis->logdiag, r->diagnosis->conf)
                                   : "Change first: the phase is not known, and this holds in any";
    if (k == NULL || mt_diagnosis_failed(r->diagnosis))
        return "Change first";
    return k->analysis->verdict.kind == MT_V_END_STATE ? "To lower what is held"
                                                       : "To lower this peak";
}

/* No snapshot is ever made of it. */
static bool has_no_torch(const struct mt_diagnosis *d)
{
    return d->logdiag != NULL && d->logdiag->n_failures != 0 &&
           mt_logdiag_no_torch(&d->logs->files.p[d->logdiag->file].log.facts.p[d->logdiag->fact]);
}

const char *mt_report_no_figures(const struct mt_report *r)
{
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    bool any = false;
    if (r->diagnosis->ranks.n != 0 ||
        has_no_torch(r->diagnosis)) /* of what is advised here, the one at hand does not say it */
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].saving.known)
            return NULL;
        any = any || (list[i].is_top && (list[i].is_weak || list[i].card->saving != NULL));
    }
    return any ? "What each of them frees, only a snapshot can say: how to record one stands "
                 "under \"All advice\"."
               : NULL;
}

/* Of the snapshot that speaks; NULL = there is none, or its numbers tell none. */
static const char *least_change(const struct mt_diagnosis *d)
{
    const struct mt_analysis *a = d->ranks.n != 0 ? d->ranks.p[d->primary].analysis : NULL;
    const struct mt_device_analysis *v =
        a != NULL && a->devices.n != 0 ? &a->devices.p[a->verdict.device] : NULL;
    return v != NULL && v->cause != NULL && mt_diagnosis_lead(d) == MT_LEAD_SNAPSHOT
               ? v->cause->least
               : NULL;
}

/* Nothing may be said of settings that nobody showed, nor where something is advised after all. */
const char *mt_report_no_first(const struct mt_report *r)
{
    uint32_t n, n_helps = 0;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    const struct mt_runconf *conf = r->diagnosis->conf;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].is_top)
            return NULL;
        n_helps += list[i].rule->kind <= MT_FIX_TIP;
    }
    if (!mt_diagnosis_failed(r->diagnosis))
        return least_change(r->diagnosis);
    if (n_helps != 0)
        return "Nothing is certain enough to be changed first; what may help stands under \"All "
               "advice\".";
    if (least_change(r->diagnosis) != NULL)
        return least_change(r->diagnosis);
    if (r->diagnosis->ranks.n != 0 || r->diagnosis->driver != NULL)
        return conf != NULL && conf->any
                   ? "None of the settings at hand is known to help here. Begin with "
                     "the largest holder: what allocated it stands below."
                   : "Begin with the largest holder: what allocated it stands below. With the "
                     "launch script or config of the run (--config FILE) memtrace looks for "
                     "settings too.";
    return conf != NULL && conf->any
               ? "Of the settings at hand memtrace knows none that surely helps here. A snapshot "
                 "of "
                 "the failure names the holders."
               : "To say which setting helps, memtrace needs one of these: the traceback around "
                 "that line, the launch script or config of the run (--config FILE), or a "
                 "snapshot of the failure.";
}

const char *mt_report_log_second(const struct mt_report *r)
{
    return r->diagnosis->logdiag != NULL && mt_diagnosis_lead(r->diagnosis) != MT_LEAD_LOG &&
                   (r->diagnosis->logdiag->cause != MT_CAUSE_NONE || r->diagnosis->logdiag->tells)
               ? r->diagnosis->logdiag->sentence
               : NULL;
}

const char *mt_report_same_job(const struct mt_report *r)
{
    const struct mt_same_job *j = r->diagnosis->same_job;
    return j == NULL              ? NULL
           : j->sentence != NULL  ? j->sentence
           : j->elsewhere != NULL ? j->elsewhere
                                  : j->card;
}
