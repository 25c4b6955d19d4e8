/* live.c -- reads the records of a chunk that is let go, and hands each to whom it concerns. */
#define _GNU_SOURCE 1
#include "capture/inject/abi_cuda.h"
#include "capture/inject/live.h"

#include <stdlib.h>
#include <string.h>

/* Reads behind `end` rather than look for it in each byte: the chunk is followed by MTI_LIVE_ROOM
 * zeroes, which end any number. Who has read a record looks once whether it was cut off. */
struct reader {
    const unsigned char *p, *end;
};
_Static_assert(MTI_LIVE_ROOM >= 32 * MT_VARINT_MAX, "more than the numbers of any record");

static struct mti_live_sums sums;

static bool cut_off(const struct reader *r) { return r->p > r->end; }

static inline uint64_t get(struct reader *r)
{
    const unsigned char *p = r->p;
    uint64_t byte = *p++, v = byte;
    for (unsigned shift = 7; byte >= 128 && shift < 64; shift += 7) {
        byte = *p++;
        v += (byte - 1) << shift; /* less one: the bit that said that there is more */
    }
    r->p = p;
    return v;
}

static inline uint64_t delta(struct reader *r, uint64_t *state)
{
    return *state += (uint64_t)mt_unzigzag(get(r));
}

static void timed(struct reader *r, struct mti_delta *d)
{
    (void)delta(r, &d->time);
    (void)delta(r, &d->tid);
    if (d->time > sums.until)
        sums.until = d->time;
}

bool mti_live_grow(void *list, uint32_t n, uint32_t *cap, size_t size)
{
    void *p, *fresh;
    uint32_t more = *cap ? *cap * 2 : 64;
    if (n < *cap)
        return true;
    memcpy(&p, list, sizeof p);
    fresh = more > *cap ? realloc(p, more * size) : NULL;
    if (!fresh)
        return false;
    memcpy(list, &fresh, sizeof fresh);
    *cap = more;
    return true;
}

/* ---- calls ---- */

static void fields(struct reader *r, struct mti_delta *d, struct mti_call *c)
{
    uint32_t m = c->mask;
    c->result = m & MT_WF_RESULT ? (uint32_t)get(r) : 0;
    c->addr = m & MT_WF_ADDR ? delta(r, &d->addr) : 0;
    c->size = m & MT_WF_SIZE ? get(r) : 0;
    c->handle = m & MT_WF_HANDLE ? delta(r, &d->handle) : 0;
    c->offset = m & MT_WF_OFFSET ? get(r) : 0;
    c->stream = m & MT_WF_STREAM ? get(r) : 0;
    c->device = m & MT_WF_DEVICE ? (uint32_t)get(r) : 0;
    c->context = m & MT_WF_CONTEXT ? delta(r, &d->context) : 0;
    c->pool = m & MT_WF_POOL ? delta(r, &d->pool) : 0;
    c->flags = m & MT_WF_FLAGS ? (uint32_t)get(r) : 0;
    c->stack = m & MT_WF_STACK ? (uint32_t)get(r) : 0;
    c->free = m & MT_WF_FREE ? get(r) : 0;
    c->total = m & MT_WF_TOTAL ? get(r) : 0;
    c->location = m & MT_WF_LOCATION ? (uint32_t)get(r) : 0;
    c->change = m & MT_WF_CHANGE ? mt_unzigzag(get(r)) : 0;
    c->name = m & MT_WF_NAME ? (uint32_t)get(r) : 0;
    c->corr = m & MT_WF_CORR ? (uint32_t)delta(r, &d->corr) : 0;
}

static bool call(struct reader *r, struct mti_delta *d, bool lossless)
{
    struct mti_call c = {.t0 = 0};
    timed(r, d);
    c.t1 = d->time;
    c.op = (uint32_t)get(r);
    c.cbid = (uint32_t)get(r);
    uint64_t took = get(r);
    c.t0 = took < c.t1 ? c.t1 - took : 0;
    c.mask = (uint32_t)get(r);
    fields(r, d, &c);
    if (cut_off(r))
        return true;
    sums.calls++;
    if (c.result == MTI_CU_OUT_OF_MEMORY)
        mti_live_rest_failed();
    else if (c.result)
        return true;
    return mti_live_call(&c, (uint32_t)d->tid, lossless);
}

/* CUPTI's own records stay no longer than their chunk; they share state with the calls. */
static void memory2(struct reader *r, struct mti_delta *d)
{
    timed(r, d);
    (void)get(r);
    (void)get(r);
    uint64_t m = get(r);
    for (unsigned bit = 1; bit <= MT_WM_POOL; bit <<= 1) {
        if (!(m & bit))
            continue;
        if (bit == MT_WM_ADDR)
            (void)delta(r, &d->addr);
        else if (bit == MT_WM_CORR)
            (void)delta(r, &d->corr);
        else if (bit == MT_WM_POOL)
            (void)delta(r, &d->pool);
        else
            (void)get(r);
    }
}

static bool rest(unsigned type, struct reader *r, struct mti_delta *d)
{
    timed(r, d);
    struct mti_live_record one = {.type = type,
                                  .time = d->time,
                                  .tid = (uint32_t)d->tid,
                                  .payload = r->p,
                                  .n = (size_t)(r->end - r->p)};
    return cut_off(r) || mti_live_rest(&one);
}

static bool record(unsigned type, struct reader *r, struct mti_delta *d, bool lossless,
                   struct mti_kept *defined)
{
    switch (type) {
    case MT_WR_STRING:
    case MT_WR_ATTR:
    case MT_WR_THREAD:
    case MT_WR_MODULE:
    case MT_WR_STACK:
    case MT_WR_DEVICE:
    case MT_WR_CONTEXT: mti_kept_raw(defined, type, r->p, (size_t)(r->end - r->p)); return true;
    case MT_WR_CALL: return call(r, d, lossless);
    case MT_WR_MEMORY2: memory2(r, d); return true;
    case MT_WR_MEMPOOL:
        timed(r, d);
        (void)get(r);
        (void)get(r);
        (void)delta(r, &d->pool);
        return true;
    case MT_WR_RANGE_PUSH:
    case MT_WR_RANGE_POP:
    case MT_WR_RANGE_START:
    case MT_WR_RANGE_END:
    case MT_WR_MARK:
    case MT_WR_GPU_SAMPLE:
    case MT_WR_HOST_SAMPLE:
    case MT_WR_STATUS:
    case MT_WR_LOSS:
    case MT_WR_END: return rest(type, r, d);
    default: return true;
    }
}

bool mti_live_chunk(const unsigned char *chunk, size_t bytes, struct mti_kept *defined)
{
    struct mti_delta d = {.time = mt_get64(chunk + MT_WH_MONOTONIC),
                          .tid = mt_get32(chunk + MT_WH_PID)};
    struct reader r = {.p = chunk + MT_WIRE_HEADER, .end = chunk + bytes};
    bool lossless = mt_get64(chunk + MT_WH_DROPPED) == 0;
    if (sums.chunks++ == 0)
        sums.start = sums.until = d.time;
    while (r.p < r.end) {
        uint64_t type = get(&r), n = get(&r);
        if (cut_off(&r) || n > (uint64_t)(r.end - r.p))
            return true;
        struct reader one = {.p = r.p, .end = r.p + n};
        r.p += n;
        sums.records++;
        if (!record((unsigned)type, &one, &d, lossless, defined))
            return false;
    }
    return true;
}

void mti_live_write(struct mti_kept *out)
{
    mti_live_calls_write(out);
    mti_live_rest_write(out);
}

struct mti_live_sums mti_live_sums(void)
{
    sums.entries = mti_live_calls_n();
    sums.failures = mti_live_calls_failures_left_out();
    return sums;
}

void mti_live_forget(void)
{
    memset(&sums, 0, sizeof sums);
    mti_live_calls_forget();
    mti_live_rest_forget();
}
