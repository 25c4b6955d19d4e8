/* What the driver saw. */
#include "render/sections/impl.h"

#include "render/view/driver.h"

#include <stdio.h>

#define PINNED (UINT64_C(1) << 30) /* less is what every job pins */

static void curve(struct mt_sink *k, const struct mt_ledger *l)
{
    uint64_t top = 0;
    for (uint32_t i = 0; i < l->n_columns; i++) {
        uint64_t high = l->used[i] > l->named[i] ? l->used[i] : l->named[i];
        top = high > top ? high : top;
    }
    if (k->curve == NULL || l->n_columns < 2 || top == 0)
        return;
    if (l->capacity > top && l->capacity / top < 3)
        top = l->capacity;
    k->curve(k,
             &(struct mt_curve){l->used, l->named, l->n_columns, top, l->t1_ns - l->t0_ns, true});
}

static void ledger(struct mt_sink *k, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    static const char few[] = "  {0:>12}  {1} smaller owners";
    static const char few_md[] = "| {0:=} | | {1} smaller owners | |\n";
    char a[40], who[MT_WHO], holder[MT_WHO];
    int64_t rest = 0;
    uint32_t more = 0;
    mt_heading(k, l->name, NULL);
    curve(k, l);
    MT_ROW(k, "  Held {1}, by owner:",
           "**{0}**, {1}\n\n| bytes | peak | owner | process |\n|---:|---:|---|---|\n", l->name,
           mt_ledger_focus_words(l));
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct mt_ledger_row *r = &l->rows.p[i];
        bool is_process = r->process != MT_NONE32;
        if (i >= mt_most(k, 14, 12) && r->holder != MT_HOLD_UNEXPLAINED) {
            rest += r->bytes;
            more++;
            continue;
        }
        if (more != 0 && r->holder == MT_HOLD_UNEXPLAINED) {
            MT_ROW(k, few, few_md, mt_fmt_signed(a, rest), MT_COUNT(more));
            more = 0;
        }
        MT_ROW(k,
               "~  {0:>12}  {1}[ ({2})]\n~                {4}\n"
               "                {5} more of address space is reserved and not mapped",
               "| {0:=} | {3:=} | {1} | {2} |\n", mt_fmt_signed(a, r->bytes),
               mt_driver_holder(holder, r->holder, r->library),
               is_process ? mt_driver_who(who, j, r->driver, r->process) : NULL,
               MT_BYTES_OR(is_process, r->peak, ""), r->label,
               MT_BYTES_OR(r->reserved_va != 0 && r->holder != MT_HOLD_TORCH, r->reserved_va, ""));
    }
    if (more != 0)
        MT_ROW(k, few, few_md, mt_fmt_signed(a, rest), MT_COUNT(more));
    MT_ROW(k,
           l->focus_used != 0
               ? "  {0:>12}  used on the device: the sum"
               : "  {0:>12}  by recorded calls: the sum; the device's own figure was "
                 "not sampled",
           "| **{0}** | | **{1}** | |\n",
           MT_BYTES(l->focus_used != 0 ? l->focus_used : l->focus_named),
           l->focus_used != 0 ? "used on the device"
                              : "by recorded calls; the device was not sampled");
    MT_ROW(k, "  {0:>12}  capacity", NULL, MT_BYTES_OR(l->capacity != 0, l->capacity, ""));
    k->end(k);
}

static void failures(struct mt_sink *k, const struct mt_driverdiag *j)
{
    char who[MT_WHO], holder[MT_WHO], when[40];
    uint32_t shown = 0;
    if (j->ooms.n == 0)
        return;
    mt_heading(k, "Driver calls that failed for want of memory", NULL);
    MT_ROW0(k, NULL,
            "| failed call of | process | asked for | free | phase | |\n"
            "|---|---|---:|---:|---|---|\n");
    for (unsigned pass = 0; pass < 2; pass++) /* those that ended something first */
        for (uint32_t i = 0; i < j->ooms.n; i++) {
            const struct mt_driver_oom *o = &j->ooms.p[i];
            if (o->is_fatal != (pass == 0) || shown >= mt_most(k, 12, 8))
                continue;
            shown++;
            MT_ROW(k,
                   "  - |{0}: {1} in {2} asked for {3}{4:=}[, {5} free on the device][, during "
                   "{6}]: {7}[, {8}]",
                   "| {1} | {2} | {3} | {9:=} | {6} | {7} |\n",
                   mt_driver_moment(when, j, o->time_ns),
                   mt_driver_holder(holder, o->who, o->library),
                   mt_driver_who(who, j, o->driver, o->process), MT_BYTES(o->request),
                   o->is_host ? " of host memory" : NULL, MT_BYTES_OR(o->free != 0, o->free, ""),
                   o->phase != MT_PH_UNATTRIBUTED ? MT_PHASE_WORDS(o->phase, o->sub) : NULL,
                   o->survived ? "survived" : "not survived",
                   o->survived || o->is_fatal ? NULL : "part of the same trouble",
                   MT_BYTES_OR(o->free != 0, o->free, "-"));
        }
    k->end(k);
    mt_row_more(k, j->ooms.n - shown);
}

static void sleeps(struct mt_sink *k, const struct mt_driverdiag *j)
{
    enum { SHOWN = 12 };
    char when[40], who[MT_WHO];
    if (j->sleeps.n == 0)
        return;
    mt_heading(k, "Sleep and wake: bursts of unmaps and maps", NULL);
    for (uint32_t i = 0; i < j->sleeps.n && i < SHOWN; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        MT_ROW(k, "  >13|{0:>9}  {1}{2}: {3}, {4} held afterwards ({5})", NULL,
               mt_driver_moment(when, j, s->t0_ns), mt_holder_words(s->who),
               mt_driver_sleep_words(j, i), MT_BYTES(s->bytes), MT_BYTES(s->left),
               mt_driver_who(who, j, s->driver, s->process));
    }
    mt_row_more(k, j->sleeps.n > SHOWN ? j->sleeps.n - SHOWN : 0);
}

static void reconciled(struct mt_sink *k, const struct mt_driverdiag *j)
{
    char a[40], holder[MT_WHO], who[MT_WHO];
    if (j->reconciled.n == 0)
        return;
    mt_heading(k, "PyTorch's view against the driver's, at each snapshot", NULL);
    MT_ROW0(k, NULL,
            "| process | PyTorch believes | there | unmapped | not recorded | the driver's |\n"
            "|---|---:|---:|---:|---:|---:|\n");
    for (uint32_t i = 0; i < j->reconciled.n && i < mt_most(k, j->reconciled.n, 16); i++) {
        const struct mt_reconcile *r = &j->reconciled.p[i];
        MT_ROW(k,
               "  |{0}, device {1}\n"
               "  {2:>12}  PyTorch believes it holds\n"
               "  {3:>12}    of it held: recorded at the same addresses\n"
               "  {4:>12}    of it not held: unmapped, its pool sleeps",
               "| {0} | {2} | {3} | {4} | {5} | {6} |\n",
               mt_driver_who(who, j, r->driver, r->process),
               r->ordinal < 0 ? "-1" : MT_COUNT((uint64_t)r->ordinal), MT_BYTES(r->torch_reserved),
               MT_BYTES(r->matched), MT_BYTES(r->unmapped), MT_BYTES(r->unseen),
               MT_BYTES(r->driver_held));
        for (int g = 0; g < MT_MAX_GONE && r->gone[g].site != NULL; g++)
            MT_ROW(k, "~  {0:>12}      in use there: {1}",
                   "| in use there, unmapped: {1:.160} | | | {0} | | |\n",
                   MT_BYTES(r->gone[g].bytes), r->gone[g].site);
        MT_ROW(k,
               "  {0:>12}    of it without a recorded call: older, or lost\n"
               "  {1:>12}  the process holds by recorded calls",
               NULL, MT_BYTES(r->unseen), MT_BYTES(r->driver_held));
        for (uint32_t n = 0; n < r->others.n; n++)
            MT_ROW(k, "~  {0:>12}    beside PyTorch: {1}", NULL,
                   mt_fmt_signed(a, r->others.p[n].bytes),
                   mt_driver_holder(holder, r->others.p[n].holder, r->others.p[n].library));
    }
    k->end(k);
}

static void phases(struct mt_sink *k, const struct mt_driverdiag *j)
{
    struct mt_phase_sum sum[MT_PH_COUNT];
    unsigned n = mt_driver_phase_sums(j, sum);
    if (n == 0)
        return;
    mt_heading(k, "Phases of the job, by ranges and marks", NULL);
    MT_ROW0(k, "  phase                                 times     together     highest on a GPU",
            NULL);
    for (unsigned i = 0; i < n; i++)
        MT_ROW(k, "  {0:<34} {1:>8} {2:>12} {3:>20}", NULL, mt_phase_words(sum[i].phase),
               MT_COUNT(sum[i].n), MT_SECONDS(sum[i].ns), MT_BYTES(sum[i].peak));
}

static void processes(struct mt_sink *k, const struct mt_driverdiag *j)
{
    enum { SHOWN = 24 };
    char end[64], who[MT_WHO];
    if (j->processes.n == 0)
        return;
    mt_heading(k, "Processes", NULL);
    for (uint32_t i = 0; i < j->processes.n && i < SHOWN; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        const struct mt_process *q = &j->drivers.p[p->driver]->driver->processes.p[p->process];
        bool pinned = p->pinned_peak >= PINNED;
        MT_ROW(k,
               q->has_cuda ? "  - |{0}: peak {1}, {2} call{3}, {4}"
                           : "  - |{0}: no GPU, {2} call{3}, {4}",
               NULL, mt_driver_who(who, j, p->driver, p->process), MT_BYTES(p->peak),
               MT_COUNT(q->n_calls), mt_plural(q->n_calls), mt_driver_end(end, q));
        if (pinned)
            MT_ROW(k, "    pinned host memory: {0} at most, {1} at its end", NULL,
                   MT_BYTES(p->pinned_peak), MT_BYTES(p->pinned_end));
    }
    mt_row_more(k, j->processes.n > SHOWN ? j->processes.n - SHOWN : 0);
}

void mt_section_driver(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t whole = mt_most(k, 8, 4);
    if (j == NULL)
        return;
    for (uint32_t i = 0; i < j->ledgers.n && i < whole; i++)
        ledger(k, j, &j->ledgers.p[i]);
    for (uint32_t i = whole; i < j->ledgers.n; i++)
        MT_ROW(k,
               i == whole ? "\n  {0:<50} peak {1} by recorded calls"
                          : "  {0:<50} peak {1} by recorded calls",
               NULL, j->ledgers.p[i].name, MT_BYTES(j->ledgers.p[i].peak_named));
    failures(k, j);
    if (k->format == MT_IN_TEXT)
        sleeps(k, j);
    reconciled(k, j);
    if (k->format == MT_IN_TEXT) {
        phases(k, j);
        processes(k, j);
    }
}
