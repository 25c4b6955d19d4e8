/* A snapshot laid beside the books of its process: what PyTorch believes it
 * holds, and what the driver says is there. */
#include "analysis/ledger/impl.h"
#include "analysis/base/frames.h"

#include <stdlib.h>

struct stretch { /* of addresses, in order */
    uint64_t addr, end;
    uint32_t row; /* MT_NONE32: only reserved */
    uint64_t handle;
    uint64_t before; /* bytes of those at lower addresses */
};
struct stretches {
    MT_VEC(struct stretch) v;
};

static int by_addr(const void *pa, const void *pb)
{
    const struct stretch *a = pa, *b = pb;
    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->handle < b->handle ? -1 : a->handle > b->handle;
}

/* What the process has on that GPU: allocations and mappings; or its
 * reservations. */
static int collect(const struct mt_books *b, const struct mt_probe *p, bool reserved,
                   struct stretches *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->held_cap; i++) {
        const struct mt_held *h = &b->held[i];
        struct stretch *s;
        bool wanted;
        if (!h->used || h->proc != p->proc || h->size == 0 || h->key + h->size < h->key)
            continue;
        wanted = reserved ? h->space == MT_SP_RESERVED
                          : (h->space == MT_SP_DEVICE || h->space == MT_SP_MAPPED) &&
                                h->row != MT_NONE32 && (h->flags & MT_HF_MANAGED) == 0 &&
                                b->rows.p[h->row].ledger == p->ledger;
        if (!wanted)
            continue;
        s = MT_VEC_PUSH(&out->v);
        if (s == NULL)
            return 0;
        *s = (struct stretch){h->key, h->key + h->size, reserved ? MT_NONE32 : h->row,
                              h->space == MT_SP_MAPPED ? h->link : 0, 0};
    }
    if (out->v.n > 1)
        qsort(out->v.p, out->v.n, sizeof *out->v.p, by_addr);
    for (uint32_t i = 0; i < out->v.n; i++) { /* hostile input: no address may count twice */
        struct stretch s = out->v.p[i];
        if (n != 0 && s.addr < out->v.p[n - 1].end)
            s.addr = out->v.p[n - 1].end;
        if (s.addr >= s.end)
            continue;
        s.before =
            n != 0 ? out->v.p[n - 1].before + (out->v.p[n - 1].end - out->v.p[n - 1].addr) : 0;
        out->v.p[n++] = s;
    }
    out->v.n = n;
    return 1;
}

static int cmp_handle(const void *pa, const void *pb)
{
    const struct stretch *const *a = pa, *const *b = pb;
    if ((*a)->handle != (*b)->handle)
        return (*a)->handle < (*b)->handle ? -1 : 1;
    return (*a)->addr < (*b)->addr ? -1 : (*a)->addr > (*b)->addr;
}

/* Where memory is mapped twice, its bytes count at the first address. */
static int once(struct stretches *s)
{
    struct stretch **of = mt_malloc(((size_t)s->v.n + 1) * sizeof *of);
    if (of == NULL)
        return 0;
    for (uint32_t i = 0; i < s->v.n; i++)
        of[i] = &s->v.p[i];
    if (s->v.n > 1)
        qsort((void *)of, s->v.n, sizeof *of, cmp_handle);
    for (uint32_t i = 1; i < s->v.n; i++)
        if (of[i]->handle != 0 && of[i]->handle == of[i - 1]->handle)
            of[i]->row = MT_NONE32;
    mt_free((void *)of);
    return 1;
}

/* Index of the first stretch that ends behind addr; the number of stretches when there is none. */
static uint32_t first_behind(const struct stretches *s, uint64_t addr)
{
    uint32_t lo = 0, hi = s->v.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->v.p[mid].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Bytes of [addr, end) in the stretches; adds them to their rows where there
 * are sums. */
static uint64_t overlap(const struct stretches *s, uint64_t addr, uint64_t end, uint64_t *of_row)
{
    uint64_t sum = 0;
    for (uint32_t lo = first_behind(s, addr); lo < s->v.n && s->v.p[lo].addr < end; lo++) {
        const struct stretch *k = &s->v.p[lo];
        uint64_t from = k->addr > addr ? k->addr : addr, to = k->end < end ? k->end : end;
        if (of_row != NULL && k->row == MT_NONE32)
            continue;
        sum += to - from;
        if (of_row != NULL)
            of_row[k->row] += to - from;
    }
    return sum;
}

static int others(struct mt_books *b, const struct mt_probe *p, struct mt_reconcile *out,
                  const uint64_t *matched)
{
    for (uint32_t i = 0; i < b->rows.n; i++) {
        const struct mt_row *w = &b->rows.p[i];
        struct mt_ledger_row *r;
        if (w->proc != p->proc || w->ledger != p->ledger)
            continue;
        out->driver_held += (uint64_t)w->bytes;
        if ((uint64_t)w->bytes == matched[i])
            continue;
        r = MT_VEC_PUSH(&out->others);
        if (r == NULL)
            return 0;
        *r = (struct mt_ledger_row){.holder = w->holder,
                                    .driver = b->proc[w->proc].driver,
                                    .process = b->proc[w->proc].process,
                                    .bytes = w->bytes - (int64_t)matched[i],
                                    .peak = w->peak,
                                    .n_live = w->n_live};
        r->label = mt_strndup("", 0);
        if (w->lib != 0)
            r->library = mt_strndup(b->libs.name.p[w->lib], strlen(b->libs.name.p[w->lib]));
        if (r->label == NULL || (w->lib != 0 && r->library == NULL))
            return 0;
    }
    return 1;
}

struct of_stack {
    mt_stack_id stack;
    uint64_t bytes;
};

static int by_stack(const void *pa, const void *pb)
{
    const struct of_stack *a = pa, *b = pb;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int most_first(const void *pa, const void *pb)
{
    const struct of_stack *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* Bytes of the stretches below an address. */
static uint64_t below(const struct stretches *s, uint64_t addr)
{
    uint32_t lo = first_behind(s, addr);
    if (lo == s->v.n)
        return lo != 0 ? s->v.p[lo - 1].before + (s->v.p[lo - 1].end - s->v.p[lo - 1].addr) : 0;
    return s->v.p[lo].before + (addr > s->v.p[lo].addr ? addr - s->v.p[lo].addr : 0);
}

/* The same as overlap(), at a cost that does not grow with the block: those of a snapshot may lie
 * over each other. */
static uint64_t covered(const struct stretches *s, uint64_t addr, uint64_t size)
{
    return below(s, addr + size) - below(s, addr);
}

/* Of [addr, addr + size): reserved and not mapped. */
static uint64_t asleep(const struct stretches *there, const struct stretches *reserved,
                       uint64_t addr, uint64_t size)
{
    uint64_t on = covered(there, addr, size), va = covered(reserved, addr, size);
    va = va > on ? va - on : 0;
    return va < size - on ? va : size - on;
}

/* The blocks of the snapshot: those in use whose memory is not there, and segments that are there
 * and of which none is in use. */
static int blocks(const struct mt_trace *t, const struct stretches *there,
                  const struct stretches *reserved, struct mt_reconcile *out)
{
    MT_VEC(struct of_stack) sum = {NULL, 0, 0};
    uint32_t n = 0;
    int ok = 1;
    char buf[400];
    for (uint32_t i = 0; ok && t != NULL && i < t->segments.n; i++) {
        const struct mt_segment *g = &t->segments.p[i];
        bool in_use = g->n_blocks == 0;
        if (!mt_segment_is_on(g, out->ordinal, MT_DEV_CUDA) || g->addr + g->total < g->addr)
            continue;
        for (uint32_t k = 0; ok && k < g->n_blocks; k++) {
            const struct mt_block *w = &t->blocks.p[g->first_block + k];
            struct of_stack *s;
            uint64_t bytes;
            if (w->state == MT_BLOCK_INACTIVE)
                continue;
            in_use = true;
            bytes = w->addr + w->size < w->addr || out->unmapped == 0
                        ? 0
                        : asleep(there, reserved, w->addr, w->size);
            if (bytes == 0)
                continue;
            s = MT_VEC_PUSH(&sum);
            ok = s != NULL;
            if (ok)
                *s = (struct of_stack){w->stack, bytes};
        }
        if (!in_use && g->pool_known && g->pool[0] == 0 && g->pool[1] == 0)
            out->idle += covered(there, g->addr, g->total);
    }
    if (out->idle > out->matched)
        out->idle = out->matched;
    if (sum.n > 1)
        qsort(sum.p, sum.n, sizeof *sum.p, by_stack);
    for (uint32_t i = 0; i < sum.n; i++) {
        if (n != 0 && sum.p[n - 1].stack == sum.p[i].stack)
            sum.p[n - 1].bytes += sum.p[i].bytes;
        else
            sum.p[n++] = sum.p[i];
    }
    if (n > 1)
        qsort(sum.p, n, sizeof *sum.p, most_first);
    for (uint32_t i = 0; ok && i < n && i < MT_MAX_GONE; i++) {
        const char *site = mt_stack_label(t, sum.p[i].stack, buf, sizeof buf);
        out->gone[i].site = mt_strndup(site, strlen(site));
        out->gone[i].bytes = sum.p[i].bytes;
        ok = out->gone[i].site != NULL;
    }
    MT_VEC_DONE(&sum);
    return ok;
}

/* Of what PyTorch had reserved when the most was live: what the driver had unmapped. */
static int books_peak(struct mt_books *b, const struct mt_probe *p)
{
    const struct mt_claims *c = &b->claims[p->claims];
    struct stretches there = {{NULL, 0, 0}}, reserved = {{NULL, 0, 0}};
    struct mt_books_peak *out = MT_VEC_PUSH(&b->driver->books_peaks);
    int ok = out != NULL && collect(b, p, false, &there) && collect(b, p, true, &reserved);
    if (ok)
        *out = (struct mt_books_peak){.rank = p->claims, .ledger = p->ledger, .at_ns = p->at_ns};
    for (uint32_t i = 0; ok && i < c->list.n; i++) {
        const struct mt_claim *k = &c->list.p[i];
        if (k->ordinal != p->ordinal || k->addr + k->size < k->addr || k->t0_ns > p->at_ns ||
            (k->t1_ns != 0 && k->t1_ns <= p->at_ns))
            continue;
        out->reserved += k->size;
        out->unmapped += asleep(&there, &reserved, k->addr, k->size);
    }
    MT_VEC_DONE(&there.v);
    MT_VEC_DONE(&reserved.v);
    return ok;
}

static int at_dump(struct mt_books *b, const struct mt_probe *p)
{
    const struct mt_claims *c = &b->claims[p->claims];
    struct stretches there = {{NULL, 0, 0}}, reserved = {{NULL, 0, 0}};
    uint64_t *matched = mt_calloc((size_t)b->rows.n + 1, sizeof *matched), sum = 0, rest = 0;
    struct mt_reconcile *out = MT_VEC_PUSH(&b->driver->reconciled);
    int ok = matched != NULL && out != NULL && collect(b, p, false, &there) &&
             collect(b, p, true, &reserved) && once(&there);
    if (!ok)
        goto out;
    out->driver = b->proc[p->proc].driver;
    out->process = b->proc[p->proc].process;
    out->rank = p->claims;
    out->ledger = p->ledger;
    out->ordinal = p->ordinal;
    out->at_ns = p->at_ns;
    for (uint32_t i = 0; i < c->list.n; i++) {
        const struct mt_claim *k = &c->list.p[i];
        uint64_t on, va;
        if (k->t1_ns != 0 || k->ordinal != p->ordinal || k->addr + k->size < k->addr)
            continue;
        on = overlap(&there, k->addr, k->addr + k->size, matched);
        va = overlap(&reserved, k->addr, k->addr + k->size, NULL);
        va = va > on ? va - on : 0; /* a mapping lies inside its reservation */
        out->torch_reserved += k->size;
        out->matched += on;
        out->unmapped += va < k->size - on ? va : k->size - on;
    }
    out->unseen = out->torch_reserved - out->matched - out->unmapped;
    ok = blocks(c->trace, &there, &reserved, out) && others(b, p, out, matched);
    for (uint32_t i = 0; i < b->rows.n; i++)
        sum += matched[i];
    for (uint32_t i = 0; i < out->others.n; i++)
        rest += (uint64_t)out->others.p[i].bytes;
    out->adds_up = out->torch_reserved == out->matched + out->unmapped + out->unseen &&
                   sum == out->matched && out->driver_held == out->matched + rest &&
                   out->matched + out->unmapped <= out->torch_reserved;
out:
    MT_VEC_DONE(&there.v);
    MT_VEC_DONE(&reserved.v);
    mt_free(matched);
    return ok;
}

int mt_reconcile_at(struct mt_books *b, const struct mt_probe *p)
{
    return p->is_peak ? books_peak(b, p) : at_dump(b, p);
}
