/* What limits the trust in the numbers of a report, most important first. */
#include "render/view/rows.h"

#include "render/base/escape.h"
#include "render/view/driver.h"

#include <stdio.h>
#include <string.h>

/* What would have told more. Where nearly every entry has a stack with C++ frames, all was
 * recorded: the code names no pass of its own. */
static const char *more_phases(const struct mt_trace *t, const struct mt_device *v)
{
    bool cpp = false;
    for (uint32_t i = 0; i < t->functions.n && !cpp; i++)
        cpp = strstr(mt_str(t, t->functions.p[i].name), "::") != NULL;
    return cpp && v->events.n != 0 && v->n_with_stack >= v->events.n - v->events.n / 10
               ? ": their frames name no phase; mark it with "
                 "torch.profiler.record_function(\"phase: log_prob\") or another "
                 "name."
               : ": record with stacks=\"all\" and before the model is built.";
}

static void device_caveats(const struct mt_rank *k, const struct mt_device_analysis *d,
                           struct mt_caveat *out, unsigned *n, unsigned max)
{
    const struct mt_device *v = &k->trace->devices.p[d->device];
    uint64_t all = d->alloc_bytes ? d->alloc_bytes : d->focus.live;
    char a[40], b[40], place[40];
    (void)snprintf(place, sizeof place, d->kind == MT_DEV_HOST ? "pinned host memory" : "device %d",
                   d->ordinal);
    if (d->withheld != NULL)
        mt_caveat_add(out, n, max, "There is no curve for %s: %s.", place, d->withheld);
    else if (d->live_peak > d->reserved_peak)
        mt_caveat_add(out, n, max,
                      "More is live on %s (%s) than is ever reserved there (%s): segment events "
                      "are missing, or the file was made up.",
                      place, mt_fmt_bytes(a, d->live_peak), mt_fmt_bytes(b, d->reserved_peak));
    if (v->ring_overflowed == 1)
        mt_caveat_add(out, n, max,
                      "The ring buffer of %s overflowed (%s entries kept): what happened before "
                      "event 0 is lost, the numbers after it are exact.",
                      place, mt_fmt_count(a, v->events.n));
    else if (d->n_unmatched_frees != 0 && v->ring_overflowed < 0)
        mt_caveat_add(out, n, max,
                      "%s free%s of %s without an allocation in the trace: recording began later, "
                      "or the ring buffer lost its beginning.",
                      mt_fmt_count(a, d->n_unmatched_frees), d->n_unmatched_frees == 1 ? "" : "s",
                      place);
    if (d->n_double_allocs != 0)
        mt_caveat_add(out, n, max,
                      "%s allocation%s of %s at an address that was still live: frees are missing.",
                      mt_fmt_count(a, d->n_double_allocs), d->n_double_allocs == 1 ? "" : "s",
                      place);
    if (v->no_requests && d->kind == MT_DEV_CUDA)
        mt_caveat_add(out, n, max,
                      "No free on %s has the moment in which it was requested (free_requested "
                      "entries): how much waited for "
                      "other streams is not known.",
                      place);
    if (d->kind == MT_DEV_CUDA && all != 0 && d->unattributed_bytes != 0)
        mt_caveat_add(out, n, max, "%s of %s on device %d could not be given a phase (%s)%s",
                      mt_fmt_percent(a, d->unattributed_bytes, all),
                      d->alloc_bytes ? "the bytes allocated" : "the live bytes", d->ordinal,
                      mt_fmt_bytes(b, d->unattributed_bytes),
                      d->unattributed_bytes * 10 > all ? more_phases(k->trace, v) : ".");
    if (v->n_by_action[MT_ACT_ALLOC] != 0 && v->n_with_stack == 0)
        mt_caveat_add(
            out, n, max,
            "No trace entry of %s has a stack: record with context=\"all\", stacks=\"all\".",
            place);
}

static unsigned same_job_caveats(const struct mt_report *r, struct mt_caveat *out, unsigned n,
                                 unsigned max)
{
    const struct mt_same_job *j = r->diagnosis->same_job;
    if (j == NULL)
        return n;
    if (j->sentence != NULL)
        mt_caveat_add(out, &n, max, "%s", j->sentence);
    if (j->elsewhere != NULL)
        mt_caveat_add(out, &n, max, "%s", j->elsewhere);
    if (j->doubt != NULL)
        mt_caveat_add(out, &n, max, "%s", j->doubt);
    if (j->missing != NULL)
        mt_caveat_add(out, &n, max, "%s", j->missing);
    return n;
}

unsigned mt_caveats(const struct mt_report *r, const struct mt_rank *k, struct mt_caveat *out,
                    unsigned max)
{
    const struct mt_trace *t;
    char a[40];
    unsigned n = 0;
    for (uint32_t i = 0; i < r->n_unread; i++)
        mt_caveat_add(out, &n, max, "Not read: %s: %s", r->unread[i].name, r->unread[i].message);
    n = same_job_caveats(r, out, n, max);
    n = mt_driverdiag_caveats(r, out, n, max);
    if (k == NULL)
        return n;
    t = k->trace;
    for (uint32_t i = 0; i < t->diags.n; i++) {
        const struct mt_diag *d = &t->diags.p[i];
        if (d->has_offset)
            mt_caveat_add(out, &n, max, "%s (offset %llu)", mt_str(t, d->text),
                          (unsigned long long)d->offset);
        else
            mt_caveat_add(out, &n, max, "%s", mt_str(t, d->text));
    }
    for (uint32_t i = 0; i < k->analysis->devices.n; i++)
        device_caveats(k, &k->analysis->devices.p[i], out, &n, max);
    if (k->analysis->annotation_checked != 0)
        mt_caveat_add(
            out, &n, max,
            "PyTorch's own Optimizer.step annotations cover %s allocation%s; %s of them were given "
            "to the optimizer.",
            mt_fmt_count(a, k->analysis->annotation_checked),
            k->analysis->annotation_checked == 1 ? "" : "s",
            k->analysis->annotation_agreed == k->analysis->annotation_checked ? "all" : "not all");
    for (uint32_t i = 0; i < t->unknown_keys.n; i++)
        mt_caveat_add(out, &n, max, "Unknown key \"%s\", passed over %s time%s.",
                      mt_str(t, t->unknown_keys.p[i].name), mt_fmt_count(a, t->unknown_keys.p[i].n),
                      t->unknown_keys.p[i].n == 1 ? "" : "s");
    for (uint32_t i = 0; i < t->unknown_actions.n; i++)
        mt_caveat_add(out, &n, max, "Unknown action \"%s\", passed over %s time%s.",
                      mt_str(t, t->unknown_actions.p[i].name),
                      mt_fmt_count(a, t->unknown_actions.p[i].n),
                      t->unknown_actions.p[i].n == 1 ? "" : "s");
    return n;
}
