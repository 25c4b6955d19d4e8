/* profiler/order.c -- memory events: as differences in logs, by time. Files are nearly in order:
 * threads come one after the other, or a few events are swapped. So an event goes behind the latest
 * one that is not after it, and the runs that come of it are merged as they are read; what needs
 * more runs than there are is sorted. */
#include "parser/profiler/impl.h"

#include <string.h>

static int put(struct mt_pf *f, struct mt_pf_run *r, const struct mt_pf_mem *m)
{
    const struct mt_pf_mem *o = &r->last;
    uint8_t *p = mt_pf_log_room(&r->log);
    if (p == NULL)
        return mt_pf_nomem(f);
    p = mt_pf_put_signed(p, m->ts - o->ts);
    p = mt_pf_put_signed(p, (int64_t)(m->place - o->place));
    p = mt_pf_put_signed(p, m->bytes);
    p = mt_pf_put(p, (uint64_t)m->thread << 3 | m->flags);
    p = mt_pf_put_signed(p, m->device);
    p = mt_pf_put_signed(p, (int64_t)(m->addr - o->addr));
    p = mt_pf_put_signed(p, (int64_t)(m->allocated - o->allocated - (uint64_t)m->bytes));
    p = mt_pf_put_signed(p, (int64_t)(m->reserved - o->reserved));
    mt_pf_log_wrote(&r->log, p);
    r->last = *m;
    return 1;
}

int mt_pf_mem_put(struct mt_pf *f, struct mt_pf_mem *m)
{
    struct mt_pf_run *to = NULL;
    for (unsigned i = 0; i < f->n_runs; i++)
        if (f->runs[i].last.ts <= m->ts && (to == NULL || f->runs[i].last.ts > to->last.ts))
            to = &f->runs[i];
    if (to == NULL && f->n_runs < MT_PF_RUNS)
        to = &f->runs[f->n_runs++];
    if (to == NULL) {
        to = &f->runs[MT_PF_RUNS - 1];
        f->unsorted_mem = true;
    }
    m->place = f->n_mem++;
    return put(f, to, m);
}

static bool get(struct mt_pf_run *r, struct mt_pf_mem *m)
{
    const struct mt_pf_mem *o = &r->last;
    const uint8_t *p = mt_pf_log_next(&r->log);
    int64_t ts, place, device, addr, allocated, reserved;
    uint64_t thread;
    if (p == NULL)
        return false;
    p = mt_pf_get_signed(p, &ts);
    p = mt_pf_get_signed(p, &place);
    p = mt_pf_get_signed(p, &m->bytes);
    p = mt_pf_get(p, &thread);
    p = mt_pf_get_signed(p, &device);
    p = mt_pf_get_signed(p, &addr);
    p = mt_pf_get_signed(p, &allocated);
    p = mt_pf_get_signed(p, &reserved);
    mt_pf_log_read(&r->log, p);
    m->ts = o->ts + ts;
    m->place = o->place + (uint64_t)place;
    m->thread = (uint32_t)(thread >> 3);
    m->flags = (uint8_t)(thread & 7);
    m->device = (int16_t)device;
    m->addr = o->addr + (uint64_t)addr;
    m->allocated = o->allocated + (uint64_t)m->bytes + (uint64_t)allocated;
    m->reserved = o->reserved + (uint64_t)reserved;
    r->last = *m;
    return true;
}

static bool before(const struct mt_pf_mem *a, const struct mt_pf_mem *b)
{
    return a->ts != b->ts ? a->ts < b->ts : a->place < b->place;
}

bool mt_pf_mem_next(struct mt_pf *f, struct mt_pf_mem *m)
{
    struct mt_pf_run *first = NULL;
    for (unsigned i = 0; i < f->n_runs; i++)
        if (f->runs[i].has_head && (first == NULL || before(&f->runs[i].head, &first->head)))
            first = &f->runs[i];
    if (first == NULL)
        return false;
    *m = first->head;
    first->has_head = get(first, &first->head);
    return true;
}

static void merge(const struct mt_pf_mem *mem, const uint32_t *a, uint32_t na, const uint32_t *b,
                  uint32_t nb, uint32_t *out)
{
    while (na != 0 && nb != 0) {
        bool second = mem[*b].ts < mem[*a].ts; /* of equal ones the first: stable */
        *out++ = second ? *b++ : *a++;
        nb -= second;
        na -= !second;
    }
    memcpy(out, na != 0 ? a : b, (size_t)(na + nb) * sizeof *out);
}

/* The end of the run that begins at i. */
static uint32_t run_end(const struct mt_pf_mem *mem, const uint32_t *at, uint32_t i, uint32_t n)
{
    for (i++; i < n && mem[at[i - 1]].ts <= mem[at[i]].ts; i++)
        ;
    return i;
}

/* Sorts indexes of mem by its times, stable; 0 = out of memory. */
static int sort(const struct mt_pf_mem *mem, uint32_t *at, uint32_t n)
{
    uint32_t *to, *from = at, *spare;
    if (n == 0 || run_end(mem, at, 0, n) == n)
        return 1;
    if ((spare = mt_malloc((size_t)n * sizeof *spare)) == NULL)
        return 0;
    to = spare;
    for (bool done = false; !done;) {
        uint32_t *swap = from;
        done = true;
        for (uint32_t i = 0, mid, end; i < n; i = end) {
            mid = run_end(mem, from, i, n);
            end = mid < n ? run_end(mem, from, mid, n) : mid;
            merge(mem, from + i, mid - i, from + mid, end - mid, to + i);
            done = done && i == 0 && end == n;
        }
        from = to;
        to = swap;
    }
    if (from != at)
        memcpy(at, from, (size_t)n * sizeof *at);
    mt_free(spare);
    return 1;
}

/* The run whose events are not in order. */
static int sort_run(struct mt_pf *f, struct mt_pf_run *r)
{
    uint32_t n = (uint32_t)r->log.n, *at;
    struct mt_pf_mem *mem;
    int rc = 0;
    if (r->log.n >= UINT32_MAX)
        return mt_json_stop(&f->j, MT_ELIMIT,
                            "more than four billion memory events that are not in order");
    mem = mt_malloc_big(((size_t)n + 1) * sizeof *mem);
    at = mt_malloc(((size_t)n + 1) * sizeof *at);
    if (mem != NULL && at != NULL) {
        for (uint32_t i = 0; i < n && get(r, &mem[i]); i++)
            at[i] = i;
        rc = sort(mem, at, n);
        memset(&r->last, 0, sizeof r->last);
        for (uint32_t i = 0; rc && i < n; i++)
            rc = put(f, r, &mem[at[i]]);
        memset(&r->last, 0, sizeof r->last);
    }
    mt_free(mem);
    mt_free(at);
    return rc || mt_pf_nomem(f);
}

int mt_pf_mem_begin(struct mt_pf *f)
{
    for (unsigned i = 0; i < f->n_runs; i++)
        memset(&f->runs[i].last, 0, sizeof f->runs[i].last);
    if (f->unsorted_mem && !sort_run(f, &f->runs[MT_PF_RUNS - 1]))
        return 0;
    for (unsigned i = 0; i < f->n_runs; i++)
        f->runs[i].has_head = get(&f->runs[i], &f->runs[i].head);
    return 1;
}

void mt_pf_mem_done(struct mt_pf *f)
{
    for (unsigned i = 0; i < f->n_runs; i++)
        mt_pf_log_done(&f->runs[i].log);
}
