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

void mt_section_ledgers(struct mt_sink *k, const struct mt_report *r)
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
}

void mt_section_failures(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    char who[MT_WHO], holder[MT_WHO], when[40];
    uint32_t shown = 0;
    if (j == NULL || j->ooms.n == 0)
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

void mt_section_sleeps(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    enum { SHOWN = 12 };
    char when[40], who[MT_WHO];
    if (j == NULL || j->sleeps.n == 0)
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

void mt_section_reconciled(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    char a[40], holder[MT_WHO], who[MT_WHO];
    if (j == NULL || j->reconciled.n == 0)
        return;
    mt_heading(k, "PyTorch's view against the driver's, at each snapshot", NULL);
    MT_ROW0(k, NULL,
            "| process | PyTorch believes | there | unmapped | not recorded | the driver's |\n"
            "|---|---:|---:|---:|---:|---:|\n");
    for (uint32_t i = 0; i < j->reconciled.n && i < mt_most(k, j->reconciled.n, 16); i++) {
        const struct mt_reconcile *c = &j->reconciled.p[i];
        MT_ROW(k,
               "  |{0}, device {1}\n"
               "  {2:>12}  PyTorch believes it holds\n"
               "  {3:>12}    of it held: recorded at the same addresses\n"
               "  {4:>12}    of it not held: unmapped, its pool sleeps",
               "| {0} | {2} | {3} | {4} | {5} | {6} |\n",
               mt_driver_who(who, j, c->driver, c->process),
               c->ordinal < 0 ? "-1" : MT_COUNT((uint64_t)c->ordinal), MT_BYTES(c->torch_reserved),
               MT_BYTES(c->matched), MT_BYTES(c->unmapped), MT_BYTES(c->unseen),
               MT_BYTES(c->driver_held));
        for (int g = 0; g < MT_MAX_GONE && c->gone[g].site != NULL; g++)
            MT_ROW(k, "~  {0:>12}      in use there: {1}",
                   "| in use there, unmapped: {1:.160} | | | {0} | | |\n",
                   MT_BYTES(c->gone[g].bytes), c->gone[g].site);
        MT_ROW(k,
               "  {0:>12}    of it without a recorded call: older, or lost\n"
               "  {1:>12}  the process holds by recorded calls",
               NULL, MT_BYTES(c->unseen), MT_BYTES(c->driver_held));
        for (uint32_t n = 0; n < c->others.n; n++)
            MT_ROW(k, "~  {0:>12}    beside PyTorch: {1}", NULL,
                   mt_fmt_signed(a, c->others.p[n].bytes),
                   mt_driver_holder(holder, c->others.p[n].holder, c->others.p[n].library));
    }
    k->end(k);
}

void mt_section_job_phases(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    struct mt_phase_sum sum[MT_PH_COUNT];
    unsigned n = j != NULL ? mt_driver_phase_sums(j, sum) : 0;
    if (n == 0)
        return;
    mt_heading(k, "Phases of the job, by ranges and marks", NULL);
    MT_ROW0(k, "  phase                                 times     together     highest on a GPU",
            NULL);
    for (unsigned i = 0; i < n; i++) {
        bool is_held = sum[i].peak != 0 && sum[i].peak_ledger < j->ledgers.n;
        MT_ROW3(k, "  {0:<34} {1:>8} {2:>12} {3:>20}", NULL,
                "<tr><th scope=\"row\">{0}</th><td class=\"n\">{1}</td><td class=\"n\">{2}</td>"
                "<td class=\"n\" title=\"{4} bytes\">{3}</td><td>{5:n120}</td></tr>\n",
                mt_phase_words(sum[i].phase), MT_COUNT(sum[i].n), MT_SECONDS(sum[i].ns),
                MT_BYTES(sum[i].peak), MT_COUNT(sum[i].peak),
                is_held ? j->ledgers.p[sum[i].peak_ledger].name : NULL);
    }
}

void mt_section_processes(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t most = k->format == MT_IN_HTML ? MT_SHOWN_PROCESSES : 24;
    char end[64], who[MT_WHO];
    if (j == NULL || j->processes.n == 0)
        return;
    mt_heading(k, "Processes", NULL);
    for (uint32_t i = 0; i < j->processes.n && i < most; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        const struct mt_trace *t = j->drivers.p[p->driver];
        const struct mt_process *q = &t->driver->processes.p[p->process];
        bool pinned = p->pinned_peak >= PINNED;
        MT_ROW3(k,
                q->has_cuda ? "  - |{0}: peak {1}, {2} call{3}, {4}"
                            : "  - |{0}: {1}, {2} call{3}, {4}",
                NULL,
                "<tr><th scope=\"row\">{0:n200}[ <small>{6:n160}</small>]</th><td>{7:n100}</td>"
                "<td class=\"n\"[ title=\"{5} bytes\"]>{1}</td><td>{8:n120}</td>"
                "<td class=\"n\" title=\"{10} bytes\">{9}</td><td class=\"n\">{2}</td>"
                "<td class=\"n\">{11}</td><td>{4}</td></tr>\n",
                mt_driver_who(who, j, p->driver, p->process),
                MT_BYTES_OR(q->has_cuda, p->peak, "no GPU"), MT_COUNT(q->n_calls),
                mt_plural(q->n_calls), mt_driver_end(end, q),
                q->has_cuda ? MT_COUNT(p->peak) : NULL, mt_str(t, q->command), mt_str(t, q->host),
                p->ledger < j->ledgers.n ? j->ledgers.p[p->ledger].name : NULL,
                MT_BYTES(p->pinned_peak), MT_COUNT(p->pinned_peak), MT_COUNT(p->n_failed));
        if (pinned)
            MT_ROW(k, "    pinned host memory: {0} at most, {1} at its end", NULL,
                   MT_BYTES(p->pinned_peak), MT_BYTES(p->pinned_end));
    }
    mt_row_more(k, j->processes.n > most ? j->processes.n - most : 0);
}
