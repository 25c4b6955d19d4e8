/* run/quality_host.c -- host and GPU on one clock: what the host held when the GPU's memory ran
 * out, or was at its highest. */
#include "analysis/base/words.h"
#include "analysis/run/quality_impl.h"

#include <stdio.h>

struct moment {
    uint64_t ns; /* 0 = none is known */
    bool failed;
};

/* Of the snapshots: the first failure, else the highest peak. */
static struct moment of_snapshots(const struct mt_diagnosis *d)
{
    struct moment m = {0, false};
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->ranks.n; i++) {
        const struct mt_analysis *a = d->ranks.p[i].analysis;
        for (uint32_t n = 0; n < a->devices.n; n++) {
            const struct mt_device_analysis *v = &a->devices.p[n];
            uint64_t failed = v->ooms.n != 0 ? v->ooms.p[0].time_ns : 0;
            if (v->kind != MT_DEV_CUDA || v->withheld != NULL)
                continue;
            if (failed != 0 && (!m.failed || failed < m.ns))
                m = (struct moment){failed, true};
            else if (!m.failed && v->peak_ns != 0 && v->live_peak > most) {
                most = v->live_peak;
                m.ns = v->peak_ns;
            }
        }
    }
    return m;
}

/* By the driver's calls, which know all of a card. */
static struct moment of_gpu(const struct mt_diagnosis *d)
{
    const struct mt_driverdiag *j = d->driver;
    struct moment m = {0, false};
    uint64_t most = 0;
    if (j != NULL && j->oom < j->ooms.n)
        return (struct moment){j->ooms.p[j->oom].time_ns, true};
    for (uint32_t i = 0; j != NULL && i < j->ledgers.n; i++)
        if (j->ledgers.p[i].peak_named > most) {
            most = j->ledgers.p[i].peak_named;
            m.ns = j->ledgers.p[i].peak_ns;
        }
    return m.ns != 0 ? m : of_snapshots(d);
}

static uint64_t held_at(const struct mt_timeline *t, uint64_t ns)
{
    uint64_t span = t->x1 - t->x0;
    double at = span != 0 ? (double)(ns - t->x0) / (double)span * t->n_columns : 0;
    uint32_t column = at < (double)t->n_columns ? (uint32_t)at : t->n_columns - 1;
    return t->total[column];
}

static void beside(struct mt_caveats *c, const struct mt_rank *k,
                   const struct mt_device_analysis *v, struct moment m)
{
    const struct mt_timeline *t = &v->timeline;
    const char *gpu = m.failed ? "the GPU's memory ran out" : "the GPU's memory was at its highest";
    uint64_t apart = m.ns > v->peak_ns ? m.ns - v->peak_ns : v->peak_ns - m.ns;
    char now[40], peak[40], pid[32] = "";
    if (v->withheld != NULL || !t->has_time || t->n_columns == 0 || v->first_ns == 0)
        return;
    if (k->trace->meta.pid > 0)
        (void)snprintf(pid, sizeof pid, " (process %lld)", (long long)k->trace->meta.pid);
    if (m.ns < v->first_ns || m.ns > v->last_ns)
        mt_caveat_add(c,
                      "When %s, the recording of the host's memory%s %s: what the host held then "
                      "is not known.",
                      gpu, pid, m.ns < v->first_ns ? "had not begun" : "had ended");
    else
        mt_caveat_add(c,
                      "When %s, the process that memray recorded%s held %s of host memory; its own "
                      "peak of %s was %llu ms %s.",
                      gpu, pid, mt_words_bytes(now, held_at(t, m.ns)),
                      mt_words_bytes(peak, v->live_peak), (unsigned long long)(apart / 1000000),
                      m.ns < v->peak_ns ? "later" : "before");
}

void mt_caveats_of_host(struct mt_caveats *c, const struct mt_diagnosis *d)
{
    struct moment m = of_gpu(d);
    for (uint32_t i = 0; m.ns != 0 && i < d->ranks.n; i++) {
        const struct mt_rank *k = &d->ranks.p[i];
        if (k->trace->meta.format == MT_FMT_MEMRAY && k->analysis->devices.n != 0)
            beside(c, k, &k->analysis->devices.p[0], m);
    }
}
