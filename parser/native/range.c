/* native/range.c -- joins the two ends of a range. Push and pop nest per (thread, domain); start
 * and end have the same id. */
#include "parser/base/text.h"
#include "parser/native/impl.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *pa, const void *pb)
{
    const struct mt_native_range *a = pa, *b = pb;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Open ranges of one process: below[i] = the range that was open on the same thread and domain when
 * ranges[i] began. */
struct open {
    struct mt_idmap top; /* (domain, thread), or range id, to a slot of `at` */
    MT_VEC(uint32_t) at; /* innermost open range, MT_NONE32 = none */
    MT_VEC(uint32_t) below;
    uint64_t n_lost_begin;
};

static uint32_t *slot_of(struct open *o, uint64_t key)
{
    uint32_t i = mt_idmap_get(&o->top, key), *p;
    if (i != MT_NONE32)
        return &o->at.p[i];
    p = MT_VEC_PUSH(&o->at);
    if (p == NULL || !mt_idmap_put(&o->top, key, o->at.n - 1))
        return NULL;
    *p = MT_NONE32;
    return p;
}

static int half(struct mt_native *n, struct open *o, const struct mt_native_range *h)
{
    bool thread = h->type == MT_WR_RANGE_PUSH || h->type == MT_WR_RANGE_POP;
    uint64_t key = thread ? UINT64_C(1) << 63 | (uint64_t)(h->tid & INT32_MAX) << 32 | h->domain
                          : (h->id & (UINT64_MAX >> 1)) + (h->id == 0);
    uint32_t *top = NULL, *below;
    struct mt_nvtx *r;
    if (h->type != MT_WR_MARK && (top = slot_of(o, key)) == NULL)
        return mt_native_nomem(n);
    if (h->type == MT_WR_RANGE_POP || h->type == MT_WR_RANGE_END) {
        if (*top == MT_NONE32) { /* it began before the recording, or in a chunk that was lost */
            o->n_lost_begin++;
            return 1;
        }
        n->d->ranges.p[*top].t1_ns = h->time_ns;
        *top = o->below.p[*top];
        return 1;
    }
    r = MT_VEC_PUSH(&n->d->ranges);
    below = MT_VEC_PUSH(&o->below);
    if (r == NULL || below == NULL)
        return mt_native_nomem(n);
    r->t0_ns = h->time_ns;
    r->name = mt_native_string(n, h->process, h->name);
    r->domain = mt_native_string(n, h->process, h->domain);
    r->process = h->process;
    r->tid = h->tid;
    r->source = h->source;
    r->is_mark = h->type == MT_WR_MARK;
    r->is_thread_range = h->type == MT_WR_RANGE_PUSH;
    if (r->is_mark)
        r->t1_ns = r->t0_ns;
    *below = MT_NONE32;
    if (top != NULL) {
        *below = thread ? *top : MT_NONE32;
        *top = n->d->ranges.n - 1;
    }
    return 1;
}

int mt_native_ranges(struct mt_native *n)
{
    struct open o;
    int ok = 1;
    memset(&o, 0, sizeof o);
    if (n->ranges.n > 1)
        qsort(n->ranges.p, n->ranges.n, sizeof *n->ranges.p, by_time);
    for (uint32_t i = 0; i < n->ranges.n && ok; i++) {
        if (i > 0 && n->ranges.p[i].process != n->ranges.p[i - 1].process) {
            mt_idmap_done(&o.top);
            o.at.n = 0;
        }
        ok = half(n, &o, &n->ranges.p[i]);
    }
    if (o.n_lost_begin != 0)
        mt_trace_diag(n->t, MT_DIAG_NOTE, false, 0,
                      "%llu range%s that never began: open before the recording, or lost",
                      (unsigned long long)o.n_lost_begin,
                      mt_plural(o.n_lost_begin, " ends", "s end"));
    mt_idmap_done(&o.top);
    MT_VEC_DONE(&o.at);
    MT_VEC_DONE(&o.below);
    return ok;
}
