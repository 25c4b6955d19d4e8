/* profiler/totals.c -- what a recording says is allocated in all, held against its events. */
#include "parser/profiler/feed.h"

int mt_pf_totals_note(struct mt_pf_totals *k, struct mt_pf_feed *d, int64_t bytes,
                      uint64_t allocated, uint64_t reserved, int64_t ts, mt_stack_id stack)
{
    int64_t before = (int64_t)allocated - bytes, unseen;
    if (before < 0) {
        k->n_contradictions++;
        return 1;
    }
    if (!k->known) {
        k->known = true;
        k->start = mt_pf_sum(before, 0 - (uint64_t)d->live);
        d->reserved = reserved;
    }
    unseen = mt_pf_sum(before, 0 - (uint64_t)mt_pf_sum(k->start, (uint64_t)d->live));
    k->end_reserved = reserved;
    if (unseen != 0) {
        uint64_t n = unseen < 0 ? 0 - (uint64_t)unseen : (uint64_t)unseen;
        k->n_unseen++;
        k->unseen = n > k->unseen ? n : k->unseen;
        if (!mt_pf_change(d, ts, unseen, 0, 0))
            return 0;
    }
    return mt_pf_reserve(d, ts, reserved, stack);
}

uint64_t mt_pf_totals_start(const struct mt_pf_totals *k, const struct mt_pf_feed *d)
{
    uint64_t low = 0 - (uint64_t)d->low; /* what the frees need at least */
    return k->known && mt_pf_sum(k->start, 0 - low) >= 0 ? (uint64_t)k->start : low;
}

void mt_pf_totals_say(struct mt_trace *t, const struct mt_pf_totals *k, int device,
                      const char *unseen)
{
    if (k->n_unseen != 0)
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0,
                      "device %d: %llu times Total Allocated changed (by up to %llu bytes) without "
                      "an event: %s; the curve has these bytes, their blocks and code are not "
                      "known",
                      device, (unsigned long long)k->n_unseen, (unsigned long long)k->unseen,
                      unseen);
    if (k->n_contradictions != 0)
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0,
                      "device %d: %llu events say that less is allocated than they allocate; their "
                      "Total Allocated was left out",
                      device, (unsigned long long)k->n_contradictions);
}
