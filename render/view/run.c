#include "render/view/run.h"
#include "render/view/driver.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

bool mt_report_log_leads(const struct mt_report *r)
{
    if (r->n_ranks != 0 || r->diag == NULL)
        return false;
    /* What the host does to a process, no driver call sees: where none failed, the log has the
     * answer. */
    return r->driver == NULL || (r->driver->kind != MT_DV_OOM &&
                                 (r->diag->cause == MT_LC_HOST || r->diag->cause == MT_LC_KILLED));
}

bool mt_report_job_advises(const struct mt_report *r)
{
    return mt_report_driver_leads(r) && r->driver->kind == MT_DV_OOM && r->driver->advice.n != 0;
}

const struct mt_combined *mt_report_after(const struct mt_report *r)
{
    const struct mt_rank *k = mt_report_rank(r);
    return k != NULL && !mt_report_job_advises(r) ? &k->analysis->combined : NULL;
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
    if (mt_report_job_advises(r)) {
        *n = r->driver->advice.n;
        return r->driver->advice.p;
    }
    *n = k != NULL ? k->analysis->advice.n : mt_report_log_leads(r) ? r->diag->advice.n : 0;
    return k != NULL ? k->analysis->advice.p : mt_report_log_leads(r) ? r->diag->advice.p : NULL;
}

uint32_t mt_setting_rows(const struct mt_report *r, bool with_allocator, struct mt_setting_row *out,
                         uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; r->conf != NULL && i < r->conf->settings.n && n < max; i++) {
        struct mt_setting_row *row = &out[n];
        row->setting = &r->conf->settings.p[i];
        if (!mt_runconf_find(r->conf, row->setting->name, &row->hit) || row->hit.is_default ||
            (!with_allocator && row->hit.entry->form == MT_CONF_ALLOCATOR))
            continue;
        row->value =
            row->hit.value != NULL ? row->hit.value : "(not known: it hangs on a variable)";
        if (row->hit.value != NULL && row->hit.value[0] == '\0')
            row->value = "on";
        row->key = row->hit.key != NULL ? row->hit.key->key : row->hit.entry->key;
        mt_runconf_where(row->where, sizeof row->where, row->hit.entry);
        n++;
    }
    return n;
}

uint32_t mt_log_rows(const struct mt_logs *l, struct mt_log_row *out, uint32_t max)
{
    uint64_t total = mt_logs_facts(l), failures = 0, others, seen = 0;
    uint32_t n = 0, room, n_failed = 0;
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.facts.n; k++)
            failures += mt_log_is_failure(l->files.p[i].log.facts.p[k].kind);
    others = total - failures;
    room = total <= max ? max : failures < max / 2 ? max - (uint32_t)failures : max - max / 2;
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log_file *file = &l->files.p[i];
        for (uint32_t k = 0; k < file->log.facts.n && n < max; k++) {
            const struct mt_log_fact *f = &file->log.facts.p[k];
            bool failed = mt_log_is_failure(f->kind), take;
            if (failed)
                take = total <= max || n_failed < max - room;
            else
                take = total <= max || (seen + 1) * room / others != seen * room / others;
            seen += !failed;
            n_failed += failed;
            if (take)
                out[n++] = (struct mt_log_row){file, f, failed};
        }
    }
    return n;
}

const char *mt_report_log_second(const struct mt_report *r)
{
    return r->diag != NULL && !mt_report_log_leads(r) && r->diag->cause != MT_LC_NONE
               ? r->diag->sentence
               : NULL;
}

static bool about_same(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= (a > b ? a : b) / 128 + 1024;
}

char *mt_log_settles(const struct mt_report *r, char *buf, size_t cap)
{
    const struct mt_logdiag *d = r->diag;
    const struct mt_rank *k = mt_report_rank(r);
    const struct mt_device_analysis *dev = mt_report_device(r);
    char a[32];
    size_t n = 0;
    buf[0] = '\0';
    if (d == NULL || k == NULL || dev == NULL || d->request == MT_LOG_NONE ||
        d->cause == MT_LC_NONE)
        return buf;
    if (k->analysis->verdict.oom < dev->ooms.n) {
        bool same = about_same(dev->ooms.p[k->analysis->verdict.oom].request, d->request);
        n += (size_t)snprintf(
            buf, cap,
            same ? "The log tells of the same failure as the snapshot."
                 : "The log's failure asked for %s: another one than the snapshot's.",
            same ? "" : mt_words_bytes(a, d->request));
        if (!same)
            return buf;
    }
    if (d->others != MT_LOG_NONE && d->others != 0 && n < cap)
        n += (size_t)snprintf(buf + n, cap - n, "%sOutside this process the card held %s.",
                              n != 0 ? " " : "", mt_words_bytes(a, d->others));
    if (d->outside != MT_LOG_NONE && n < cap)
        (void)snprintf(buf + n, cap - n,
                       "%sThis process held %s outside PyTorch, which no snapshot shows.",
                       n != 0 ? " " : "", mt_words_bytes(a, d->outside));
    return buf;
}
