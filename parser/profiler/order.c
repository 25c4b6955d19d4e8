/* profiler/order.c -- memory events: as differences in logs, by time. Files are nearly in order:
 * threads come one after the other, or a few events are swapped. So an event goes behind the latest
 * one that is not after it, and the runs that come of it are merged as they are read; what needs
 * more runs than there are is sorted. */
#include "parser/profiler/impl.h"

#include <string.h>

/* An entry is a word and six bytes, and behind them what is not as in nearly all of them:
 *   4 bits: what is behind; 24: how much later than the one before; 36: the bytes, with the sign in
 *   the lowest bit
 *   48: the address */
enum { ELSEWHERE = 1, OTHER_WHERE = 2, OTHER_TOTALS = 4, LONG = 8 };
enum {
    WHAT = 4,
    LATER = 24,
    BYTES = 36,
    ADDRESS = 48,
    ENTRY = (WHAT + LATER + BYTES + ADDRESS) / 8
};

static inline uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0); }
static inline int64_t unzigzag(uint64_t u) { return (int64_t)(u >> 1 ^ (0 - (u & 1))); }

static uint8_t *put_rest(uint8_t *p, const struct mt_pf_mem *m, const struct mt_pf_mem *o,
                         uint64_t head)
{
    if ((head & LONG) != 0) {
        p = mt_pf_put(p, (uint64_t)m->ts - (uint64_t)o->ts);
        p = mt_pf_put(p, zigzag(m->bytes));
        p = mt_pf_put(p, m->addr);
    }
    if ((head & ELSEWHERE) != 0)
        p = mt_pf_put(p, m->place);
    if ((head & OTHER_WHERE) != 0)
        p = mt_pf_put(p, m->where);
    if ((head & OTHER_TOTALS) != 0) {
        p = mt_pf_put_signed(p, (int64_t)(m->allocated - o->allocated - (uint64_t)m->bytes));
        p = mt_pf_put_signed(p, (int64_t)(m->reserved - o->reserved));
    }
    return p;
}

static int put(struct mt_pf *f, struct mt_pf_run *r, const struct mt_pf_mem *m)
{
    const struct mt_pf_mem *o = &r->last;
    uint8_t *p = mt_pf_log_room(&r->log);
    uint64_t later = (uint64_t)m->ts - (uint64_t)o->ts, bytes = zigzag(m->bytes), word;
    if (p == NULL)
        return mt_pf_nomem(f);
    word = (m->place != o->place + 1 ? ELSEWHERE : 0) | (m->where != o->where ? OTHER_WHERE : 0) |
           (m->allocated != o->allocated + (uint64_t)m->bytes || m->reserved != o->reserved
                ? OTHER_TOTALS
                : 0) |
           (later >> LATER != 0 || bytes >> BYTES != 0 || m->addr >> ADDRESS != 0 ? LONG : 0);
    if ((word & LONG) == 0)
        word |= later << WHAT | bytes << (WHAT + LATER);
    mt_pf_put_word(p, word);
    mt_pf_put_word(p + sizeof word, m->addr);
    p += ENTRY;
    if ((word & 15) != 0)
        p = put_rest(p, m, o, word);
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

static const uint8_t *get_rest(const uint8_t *p, struct mt_pf_mem *m, uint64_t head,
                               uint64_t *later)
{
    uint64_t u;
    int64_t more;
    if ((head & LONG) != 0) {
        p = mt_pf_get(mt_pf_get(mt_pf_get(p, later), &u), &m->addr);
        m->bytes = unzigzag(u);
    }
    if ((head & ELSEWHERE) != 0)
        p = mt_pf_get(p, &m->place);
    if ((head & OTHER_WHERE) != 0)
        p = mt_pf_get(p, &m->where);
    if ((head & OTHER_TOTALS) != 0) {
        p = mt_pf_get_signed(p, &more);
        m->allocated += (uint64_t)more;
        p = mt_pf_get_signed(p, &more);
        m->reserved += (uint64_t)more;
    }
    return p;
}

/* The next event of a run becomes its last one; false = there is none. */
static bool get(struct mt_pf_run *r)
{
    struct mt_pf_mem *m = &r->last;
    const uint8_t *p = mt_pf_log_next(&r->log);
    uint64_t word, later;
    if (p == NULL)
        return false;
    word = mt_pf_get_word(p);
    m->addr = mt_pf_get_word(p + sizeof word) & ((UINT64_C(1) << ADDRESS) - 1);
    p += ENTRY;
    later = word >> WHAT & ((UINT64_C(1) << LATER) - 1);
    m->bytes = unzigzag(word >> (WHAT + LATER));
    m->place++;
    if ((word & 15) != 0)
        p = get_rest(p, m, word, &later);
    m->ts = (int64_t)((uint64_t)m->ts + later);
    m->allocated += (uint64_t)m->bytes;
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
