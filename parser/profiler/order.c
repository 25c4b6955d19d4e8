/* profiler/order.c -- memory events: as differences in logs, by time. Files are nearly in order:
 * threads come one after the other, or a few events are swapped. So an event goes behind the latest
 * one that is not after it, and the runs that come of it are merged as they are read; what needs
 * more runs than there are is sorted. */
#include "parser/profiler/impl.h"

#include <string.h>

/* What an entry begins with, 16 bits: what is not as in nearly all entries, then how many bytes the
 * time, the bytes and the address have (8 as 7). */
enum { ELSEWHERE = 1, OTHER_WHERE = 2, OTHER_TOTALS = 4, BITS = 3, N_NUMBERS = 3 };

static inline uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0); }
static inline int64_t unzigzag(uint64_t u) { return (int64_t)(u >> 1 ^ (0 - (u & 1))); }

/* Bytes that a number takes: 0 to 6, or 8, which is told as 7. */
static inline unsigned width(uint64_t u)
{
#if defined(__GNUC__)
    unsigned n = (71 - (unsigned)__builtin_clzll(u | 1)) / 8;
#else
    unsigned n = 1;
    while (n < 8 && u >> (8 * n) != 0)
        n++;
#endif
    return n < 7 ? n : 7;
}

/* In the order of this machine: they are never written out. */
static inline uint8_t *store(uint8_t *p, uint64_t u, unsigned w)
{
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)(u >> (8 * i));
    return p + w + w / 7;
}

static inline const uint8_t *load(const uint8_t *p, uint64_t *u, unsigned w)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
    *u = w < 7 ? v & ((UINT64_C(1) << (8 * w)) - 1) : v;
    return p + w + w / 7;
}

static int put(struct mt_pf *f, struct mt_pf_run *r, const struct mt_pf_mem *m)
{
    const struct mt_pf_mem *o = &r->last;
    uint8_t *begin = mt_pf_log_room(&r->log), *p;
    uint64_t u[N_NUMBERS] = {zigzag(m->ts - o->ts), zigzag(m->bytes),
                             zigzag((int64_t)(m->addr - o->addr))};
    uint64_t allocated = m->allocated - o->allocated - (uint64_t)m->bytes;
    unsigned head = 0;
    if (begin == NULL)
        return mt_pf_nomem(f);
    head |= m->place != o->place + 1 ? ELSEWHERE : 0;
    head |= m->where != o->where ? OTHER_WHERE : 0;
    head |= allocated != 0 || m->reserved != o->reserved ? OTHER_TOTALS : 0;
    p = begin + 2;
    for (unsigned i = 0; i < N_NUMBERS; i++) {
        unsigned w = width(u[i]);
        head |= w << (BITS * (i + 1));
        p = store(p, u[i], w);
    }
    if ((head & ELSEWHERE) != 0)
        p = mt_pf_put_signed(p, (int64_t)(m->place - o->place));
    if ((head & OTHER_WHERE) != 0)
        p = mt_pf_put(p, m->where);
    if ((head & OTHER_TOTALS) != 0) {
        p = mt_pf_put_signed(p, (int64_t)allocated);
        p = mt_pf_put_signed(p, (int64_t)(m->reserved - o->reserved));
    }
    begin[0] = (uint8_t)head;
    begin[1] = (uint8_t)(head >> 8);
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

/* The next event of a run becomes its last one; false = there is none. */
static bool get(struct mt_pf_run *r)
{
    struct mt_pf_mem *m = &r->last;
    const uint8_t *p = mt_pf_log_next(&r->log);
    uint64_t u[N_NUMBERS];
    int64_t more;
    unsigned head;
    if (p == NULL)
        return false;
    head = p[0] | (unsigned)p[1] << 8;
    p += 2;
    for (unsigned i = 0; i < N_NUMBERS; i++)
        p = load(p, &u[i], head >> (BITS * (i + 1)) & 7);
    m->ts += unzigzag(u[0]);
    m->bytes = unzigzag(u[1]);
    m->addr += (uint64_t)unzigzag(u[2]);
    m->place++;
    m->allocated += (uint64_t)m->bytes;
    if ((head & ELSEWHERE) != 0) {
        p = mt_pf_get_signed(p, &more);
        m->place += (uint64_t)more - 1;
    }
    if ((head & OTHER_WHERE) != 0)
        p = mt_pf_get(p, &m->where);
    if ((head & OTHER_TOTALS) != 0) {
        p = mt_pf_get_signed(p, &more);
        m->allocated += (uint64_t)more;
        p = mt_pf_get_signed(p, &more);
        m->reserved += (uint64_t)more;
    }
    mt_pf_log_read(&r->log, p);
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
        if (f->runs[i].has_head && (first == NULL || before(&f->runs[i].last, &first->last)))
            first = &f->runs[i];
    if (first == NULL)
        return false;
    *m = first->last;
    first->has_head = get(first);
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
        for (uint32_t i = 0; i < n && get(r); i++) {
            mem[i] = r->last;
            at[i] = i;
        }
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
        f->runs[i].has_head = get(&f->runs[i]);
    return 1;
}

void mt_pf_mem_done(struct mt_pf *f)
{
    for (unsigned i = 0; i < f->n_runs; i++)
        mt_pf_log_done(&f->runs[i].log);
}
