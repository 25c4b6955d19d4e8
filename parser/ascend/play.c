/* ascend/play.c -- the rows' allocations and frees in the order of time, to the builder. */
#include "parser/ascend/impl.h"

#include <stdlib.h>

struct device {
    struct mt_pf_feed feed;
    struct mt_pf_totals totals;
    /* what is allocated and reserved of PyTorch's pool, and of that of CANN's graph engine */
    struct pool {
        uint64_t allocated, reserved;
        bool known;
    } pool[2];
    bool used;
};

static int by_time(const void *pa, const void *pb)
{
    const struct mt_as_event *a = pa, *b = pb;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* A row has the sums of its own pool, and the curve is that of both. What CANN's newer graph engine
 * says of a free is from right before it. */
static int sums(struct device *d, const struct mt_as_event *e)
{
    struct pool *own = &d->pool[e->is_graph];
    bool stale = e->is_graph && e->bytes < 0 && own->known && e->allocated == own->allocated;
    if (e->reserved != MT_AS_UNKNOWN)
        own->reserved = e->reserved;
    if (e->allocated != MT_AS_UNKNOWN && !stale) {
        own->allocated = e->allocated;
        own->known = true;
    } else {
        own->allocated += (uint64_t)e->bytes;
    }
    if (!own->known) /* nothing of this pool was said before */
        return 1;
    return mt_pf_totals_note(&d->totals, &d->feed, e->bytes,
                             d->pool[0].allocated + d->pool[1].allocated,
                             d->pool[0].reserved + d->pool[1].reserved, e->ts, e->stack);
}

static int one(struct mt_as *a, struct device *d, const struct mt_as_event *e)
{
    uint64_t size = e->bytes < 0 ? 0 - (uint64_t)e->bytes : (uint64_t)e->bytes;
    if (!d->used)
        mt_pf_feed_init(&d->feed, a->b);
    d->used = true;
    if (!sums(d, e))
        return 0;
    return e->bytes > 0 ? mt_pf_alloc(&d->feed, e->ts, &e->addr, size, 0, e->stack)
                        : mt_pf_free(&d->feed, e->ts, &e->addr, size, 0, e->stack);
}

static bool refused(const struct mt_as *a, const struct device *d, struct mt_err *err)
{
    const struct mt_err *e = mt_builder_err(a->b);
    if (d != NULL && d->feed.nomem)
        mt_fail(err, MT_ENOMEM, "out of memory after %llu MiB (--max-memory)",
                (unsigned long long)(mt_mem_used() >> 20));
    else
        mt_fail(err, e->rc, "%s", e->msg);
    return false;
}

static bool play(struct mt_as *a, struct device *all, struct mt_err *err)
{
    int at = -1;
    for (uint32_t i = 0; i < a->events.n; i++) {
        const struct mt_as_event *e = &a->events.p[i];
        if (e->device != at && !mt_build_trace_begin(a->b, (uint32_t)e->device, MT_DEV_CUDA))
            return refused(a, NULL, err);
        at = e->device;
        if (!one(a, &all[at], e))
            return refused(a, &all[at], err);
    }
    return true;
}

static void finish_device(struct mt_as *a, int id, const struct device *d)
{
    uint64_t start = mt_pf_totals_start(&d->totals, &d->feed);
    mt_build_totals(a->b, MT_DEV_CUDA, id, start + (uint64_t)d->feed.live, d->feed.reserved, 0);
    mt_pf_totals_say(a->t, &d->totals, id,
                     "blocks from before the recording, and those that it has no row for");
    if (!d->totals.known)
        mt_trace_diag(a->t, MT_DIAG_NOTE, false, 0,
                      "device %d: the table does not say what was allocated in all: the curve is "
                      "that of its rows, and %llu bytes must have been there before",
                      id, (unsigned long long)(0 - (uint64_t)d->feed.low));
}

bool mt_as_play(struct mt_as *a, struct mt_err *err)
{
    struct device *all = mt_calloc(MT_AS_DEVICES, sizeof *all);
    bool ok;
    if (all == NULL) {
        mt_fail(err, MT_ENOMEM, "out of memory");
        return false;
    }
    if (a->events.n > 1)
        qsort(a->events.p, a->events.n, sizeof *a->events.p, by_time);
    ok = play(a, all, err);
    for (int id = 0; id < MT_AS_DEVICES; id++)
        if (all[id].used) {
            if (ok)
                finish_device(a, id, &all[id]);
            mt_pf_feed_done(&all[id].feed);
        }
    mt_free(all);
    return ok;
}
