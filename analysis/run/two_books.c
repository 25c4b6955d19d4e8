#include "analysis/run/two_books.h"

/* A profiler counts whole blocks, as they lie in a segment; a snapshot's history has the sizes that
 * were asked for. In c10/cuda/CUDACachingAllocator.cpp sizes are rounded to kMinBlockSize, and of a
 * cached block a rest is split off only where it is one of kMinBlockSize (small pool) or more than
 * kSmallSize, or where it is large enough for a segment of its own (kLargeBuffer, with
 * max_split_size_mb). */
#define MOST_UNSPLIT (UINT64_C(20) << 20)

static bool is_within(uint64_t ns, uint64_t a, uint64_t b)
{
    return a != 0 && b != 0 && a <= b + ns && b <= a + ns;
}

/* At one block: the one that was asked for at the failure, or that made the peak. The clocks of
 * both books were up to 13 us apart in 887 events of samples/torch/profiled/. */
static bool is_one_moment(const struct mt_device_analysis *t, const struct mt_device_analysis *s)
{
    enum { FAR = 100000 }; /* ns; the same address again and again is further apart */
    if (!is_within(FAR, t->focus.time_ns, s->focus.time_ns))
        return false;
    return t->focus_is_oom ? t->ooms.p[0].request == s->ooms.p[0].request
                           : s->focus_addr != 0 && t->focus_addr == s->focus_addr;
}

/* A recording of before 1.12 has no addresses, and what waits or is rounded moves the peak: then
 * one process is told by as many allocations since one moment. */
static bool is_one_process(const struct mt_device_analysis *t, const struct mt_device_analysis *s)
{
    enum { FAR = 1000000 };
    return t->n_allocs == s->n_allocs && is_within(FAR, t->first_ns, s->first_ns) &&
           is_within(FAR, t->focus.time_ns, s->focus.time_ns);
}

static bool are_one(const struct mt_device_analysis *t, const struct mt_device_analysis *s,
                    struct mt_two_books *out)
{
    uint64_t waited = s->focus.pending, by_trace = t->focus.live + waited,
             by_snapshot = s->focus.live + s->focus_rounded;
    if (t->kind != MT_DEV_CUDA || s->kind != MT_DEV_CUDA || t->ordinal != s->ordinal ||
        t->withheld != NULL || s->withheld != NULL || t->focus_is_oom != s->focus_is_oom)
        return false;
    *out = (struct mt_two_books){.ordinal = t->ordinal,
                                 .at_failure = t->focus_is_oom,
                                 .live = t->focus.live,
                                 .more = (int64_t)(t->focus.live - s->focus.live),
                                 .rounded = s->focus_rounded,
                                 .waited = waited};
    if (is_one_moment(t, s) && by_trace >= by_snapshot &&
        by_trace - by_snapshot <= s->n_at_focus * MOST_UNSPLIT) {
        out->in_parts = true;
        out->unsplit = by_trace - by_snapshot;
        return true;
    }
    return is_one_process(t, s);
}

bool mt_two_books(const struct mt_rank *trace, uint32_t i, const struct mt_rank *snapshot,
                  struct mt_two_books *out)
{
    const struct mt_meta *t = &trace->trace->meta, *s = &snapshot->trace->meta;
    if (t->format != MT_FMT_PROFILER || s->format == MT_FMT_PROFILER ||
        (t->rank >= 0 && s->rank >= 0 && t->rank != s->rank))
        return false;
    for (uint32_t k = 0; k < snapshot->analysis->devices.n; k++)
        if (are_one(&trace->analysis->devices.p[i], &snapshot->analysis->devices.p[k], out))
            return true;
    return false;
}

uint32_t mt_better_book(const struct mt_rank *ranks, uint32_t n, uint32_t trace)
{
    const struct mt_analysis *a = ranks[trace].analysis;
    struct mt_two_books books;
    for (uint32_t k = 0; k < n; k++)
        if (a->verdict.device < a->devices.n && !ranks[k].analysis->is_brief &&
            mt_two_books(&ranks[trace], a->verdict.device, &ranks[k], &books))
            return k;
    return trace;
}
