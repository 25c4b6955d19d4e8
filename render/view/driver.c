#include "render/view/driver.h"
#include "render/view/run.h"

#include "render/base/escape.h"
#include "render/view/view.h"

#include <stdio.h>
#include <string.h>

const char *mt_driver_kind_words(const struct mt_driverdiag *j)
{
    if (j->kind == MT_V_OOM)
        return j->ooms.p[j->oom].is_host ? "Out of pinned host memory, in a driver call"
                                         : "Out of memory, in a driver call";
    if (j->host.kills != 0)
        return mt_cause_log_words(MT_CAUSE_HOST);
    return j->kind == MT_V_PEAK ? "No failure that the driver saw: its peak"
                                : "No GPU memory was recorded";
}

char *mt_driver_holder(char buf[MT_WHO], const struct mt_ledger *l, enum mt_holder h,
                       const char *library)
{
    if (library != NULL && h == MT_HOLD_LIBRARY)
        (void)snprintf(buf, MT_WHO, "%.200s", library);
    else
        (void)snprintf(buf, MT_WHO, "%s%s%.200s", mt_ledger_holder_words(l, h),
                       library != NULL ? ": " : "", library != NULL ? library : "");
    return buf;
}

char *mt_fmt_signed(char buf[40], int64_t bytes)
{
    char b[32];
    (void)snprintf(buf, 40, "%s%s", bytes < 0 ? "-" : "",
                   mt_fmt_bytes(b, bytes < 0 ? (uint64_t)0 - (uint64_t)bytes : (uint64_t)bytes));
    return buf;
}

char *mt_driver_moment(char buf[40], const struct mt_driverdiag *j, uint64_t time_ns)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < j->ledgers.n; i++)
        if (j->ledgers.p[i].t0_ns < first)
            first = j->ledgers.p[i].t0_ns;
    if (time_ns >= first)
        return mt_fmt_seconds(buf, time_ns - first);
    (void)snprintf(buf, 40, "-");
    return buf;
}

char *mt_driver_end(char buf[64], const struct mt_process *p)
{
    switch (p->end) {
    case MT_END_EXIT:
    case MT_END_STATUS:
        if (p->end_status == 0)
            (void)snprintf(buf, 64, "%s", p->end == MT_END_EXIT ? "ended by itself" : "ended well");
        else
            (void)snprintf(buf, 64, "ended with status %d", (int)p->end_status);
        break;
    case MT_END_SIGNAL: (void)snprintf(buf, 64, "killed by signal %d", (int)p->end_status); break;
    case MT_END_GONE: (void)snprintf(buf, 64, "gone without its exit handlers"); break;
    case MT_END_RUNNING: (void)snprintf(buf, 64, "still running"); break;
    case MT_END_UNKNOWN: (void)snprintf(buf, 64, "not known"); break;
    }
    return buf;
}

const char *mt_driver_sleep_words(const struct mt_driverdiag *j, uint32_t sleep)
{
    const struct mt_sleep *s = &j->sleeps.p[sleep];
    if (s->who != MT_HOLD_ENGINE)
        return s->is_wake ? " mapped" : " unmapped";
    if (!s->is_wake)
        return " went to sleep";
    for (uint32_t i = 0; i < sleep; i++)
        if (j->sleeps.p[i].driver == s->driver && j->sleeps.p[i].process == s->process &&
            j->sleeps.p[i].who == s->who && !j->sleeps.p[i].is_wake)
            return " woke";
    return " mapped";
}

const char *mt_ledger_focus_words(const struct mt_ledger *l)
{
    return l->focus_is_oom ? "at the failure" : "at the peak";
}

unsigned mt_driver_phase_sums(const struct mt_driverdiag *j, struct mt_phase_sum out[MT_PH_COUNT])
{
    uint8_t at[MT_PH_COUNT];
    uint64_t end[MT_PH_COUNT] = {0};
    unsigned n = 0;
    memset(at, 255, sizeof at);
    for (uint32_t i = 0; i < j->phases.n; i++) {
        const struct mt_driver_phase *p = &j->phases.p[i];
        struct mt_phase_sum *s;
        if (at[p->phase] == 255) {
            at[p->phase] = (uint8_t)n;
            out[n++] = (struct mt_phase_sum){p->phase, 0, 0, 0, MT_NONE32};
        }
        s = &out[at[p->phase]];
        if (s->n == 0 || p->t0_ns >= end[p->phase]) {
            s->n++;
            end[p->phase] = p->t0_ns;
        }
        if (p->t1_ns > end[p->phase]) {
            s->ns += p->t1_ns - end[p->phase];
            end[p->phase] = p->t1_ns;
        }
        if (p->peak_named > s->peak || s->peak_ledger == MT_NONE32) {
            s->peak = p->peak_named;
            s->peak_ledger = p->peak_ledger;
        }
    }
    return n;
}
