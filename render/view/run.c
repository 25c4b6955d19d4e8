#include "render/view/run.h"
#include "render/view/driver.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

uint32_t mt_setting_rows(const struct mt_report *r, bool with_allocator, struct mt_setting_row *out,
                         uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0;
         r->diagnosis->conf != NULL && i < r->diagnosis->conf->settings.n && n < max; i++) {
        struct mt_setting_row *row = &out[n];
        row->setting = &r->diagnosis->conf->settings.p[i];
        if (row->setting->is_quiet ||
            !mt_runconf_find(r->diagnosis->conf, row->setting->name, &row->hit) ||
            row->hit.is_default || (!with_allocator && row->hit.entry->form == MT_CONF_ALLOCATOR))
            continue;
        row->value =
            row->hit.value != NULL ? row->hit.value : "(not known: it hangs on a variable)";
        if (row->hit.value != NULL && row->hit.value[0] == '\0')
            row->value = "on";
        row->key = row->hit.key != NULL ? row->hit.key->key : row->hit.entry->key;
        mt_runconf_where(row->where, sizeof row->where, row->hit.entry);
        if (row->hit.model != NULL) {
            size_t at = strlen(row->where);
            (void)snprintf(row->where + at, sizeof row->where - at, ", by the model's name %.64s",
                           row->hit.model);
        }
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

static bool about_same(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= (a > b ? a : b) / 128 + 1024;
}

char *mt_log_settles(const struct mt_report *r, char *buf, size_t cap)
{
    const struct mt_logdiag *d = r->diagnosis->logdiag;
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *dev = mt_diagnosis_device(r->diagnosis);
    char a[32];
    size_t n = 0;
    buf[0] = '\0';
    if (d == NULL || k == NULL || dev == NULL || d->request == MT_LOG_NONE ||
        d->cause == MT_CAUSE_NONE)
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
