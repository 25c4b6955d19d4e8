/* The ledger at the moment that matters: every row, and the site of its largest
 * allocation. */
#include "analysis/ledger/impl.h"

#include <stdlib.h>

static int by_size(const void *pa, const void *pb)
{
    const struct mt_ledger_row *a = pa, *b = pb;
    bool special_a = a->holder == MT_HOLD_UNEXPLAINED, special_b = b->holder == MT_HOLD_UNEXPLAINED;
    if (special_a != special_b)
        return special_a ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->driver != b->driver)
        return a->driver < b->driver ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->holder != b->holder)
        return a->holder < b->holder ? -1 : 1;
    return a->library != NULL && b->library != NULL ? strcmp(a->library, b->library) : 0;
}

static struct mt_ledger_row *whole_row(struct mt_ledger *l, enum mt_holder h, int64_t bytes)
{
    struct mt_ledger_row *r = MT_VEC_PUSH(&l->rows);
    if (r == NULL)
        return NULL;
    *r = (struct mt_ledger_row){
        .holder = h, .driver = MT_NONE32, .process = MT_NONE32, .bytes = bytes};
    r->peak = bytes > 0 ? (uint64_t)bytes : 0;
    r->label = mt_strndup("", 0);
    return r->label != NULL ? r : NULL;
}

/* Address space that the caller of a row has reserved and not mapped. */
struct range {
    uint64_t addr, end;
};
struct ranges {
    MT_VEC(struct range) v;
};

static int by_addr(const void *pa, const void *pb)
{
    const struct range *a = pa, *b = pb;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Bytes of [addr, end) inside them; they are sorted and do not overlap. */
static uint64_t inside(const struct ranges *r, uint64_t addr, uint64_t end)
{
    uint64_t sum = 0;
    uint32_t lo = 0, hi = r->v.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (r->v.p[mid].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    for (; lo < r->v.n && r->v.p[lo].addr < end; lo++) {
        uint64_t from = r->v.p[lo].addr > addr ? r->v.p[lo].addr : addr,
                 to = r->v.p[lo].end < end ? r->v.p[lo].end : end;
        sum += to - from;
    }
    return sum;
}

/* What the caller of the row has reserved. */
static int reservations(struct mt_books *b, const struct mt_row *row, struct ranges *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->held_cap; i++) {
        const struct mt_held *h = &b->held[i];
        struct range *r;
        struct mt_who w;
        if (!h->used || h->proc != row->proc || h->space != MT_SP_RESERVED ||
            h->key + h->size <= h->key)
            continue;
        if (!mt_stack_who(&b->libs, &b->who[b->proc[row->proc].driver], h->stack, &w))
            return 0;
        if (w.holder != (uint8_t)row->holder || w.lib != row->lib)
            continue;
        r = MT_VEC_PUSH(&out->v);
        if (r == NULL)
            return 0;
        *r = (struct range){h->key, h->key + h->size};
    }
    if (out->v.n > 1)
        qsort(out->v.p, out->v.n, sizeof *out->v.p, by_addr);
    for (uint32_t i = 0; i < out->v.n; i++) { /* a release that was lost: no address counts twice */
        struct range r = out->v.p[i];
        if (n != 0 && r.addr < out->v.p[n - 1].end)
            r.addr = out->v.p[n - 1].end;
        if (r.addr < r.end)
            out->v.p[n++] = r;
    }
    out->v.n = n;
    return 1;
}

/* Bytes of address space that the caller of a row has reserved and to which nothing is mapped. */
static uint64_t reserved_only(struct mt_books *b, const struct mt_row *row)
{
    struct ranges r = {{NULL, 0, 0}};
    uint64_t reserved = 0, mapped = 0;
    if (!reservations(b, row, &r))
        b->nomem = true;
    for (uint32_t i = 0; i < r.v.n; i++)
        reserved += r.v.p[i].end - r.v.p[i].addr;
    for (uint32_t i = 0; r.v.n != 0 && i < b->held_cap; i++) {
        const struct mt_held *h = &b->held[i];
        if (h->used && h->proc == row->proc && h->space == MT_SP_MAPPED &&
            h->key + h->size > h->key)
            mapped += inside(&r, h->key, h->key + h->size);
    }
    MT_VEC_DONE(&r.v);
    return reserved > mapped ? reserved - mapped : 0;
}

static int by_image(const void *pa, const void *pb)
{
    const struct mt_ledger_code *a = pa, *b = pb;
    if (a->image != b->image)
        return a->image > b->image ? -1 : 1;
    if (a->holder != b->holder)
        return a->holder < b->holder ? -1 : 1;
    return a->library != NULL && b->library != NULL ? strcmp(a->library, b->library) : 0;
}

static struct mt_ledger_code *code_of(struct mt_ledger *l, enum mt_holder holder,
                                      const char *library)
{
    struct mt_ledger_code *c;
    for (uint32_t i = 0; i < l->code.n; i++) {
        c = &l->code.p[i];
        if (c->holder == holder && (c->library == NULL || strcmp(c->library, library) == 0))
            return c;
    }
    c = MT_VEC_PUSH(&l->code);
    if (c == NULL)
        return NULL;
    *c = (struct mt_ledger_code){.holder = holder};
    if (library != NULL && (c->library = mt_strndup(library, strlen(library))) == NULL)
        return NULL;
    return c;
}

/* Code that no call says the size of, by who launched it first. */
static int capture_code(struct mt_books *b, uint32_t ledger)
{
    struct mt_ledger *l = &b->driver->ledgers.p[ledger];
    const struct mt_ledger_run *run = &b->run[ledger];
    for (uint32_t i = 0; i < b->held_cap && run->n_code != 0; i++) {
        const struct mt_held *h = &b->held[i];
        struct mt_ledger_code *c;
        struct mt_who w;
        if (!h->used || h->space != MT_SP_CODE || h->refs != ledger)
            continue;
        if (!mt_stack_who(&b->libs, &b->who[b->proc[h->proc].driver], h->stack, &w))
            return 0;
        c = code_of(l, (enum mt_holder)w.holder, w.lib != 0 ? b->libs.name.p[w.lib] : NULL);
        if (c == NULL)
            return 0;
        c->n++;
        c->image += h->size < UINT64_C(1) << 40 ? h->size : 0;
    }
    if (l->code.n > 1)
        qsort(l->code.p, l->code.n, sizeof *l->code.p, by_image);
    l->code_grew = run->code_grew > 0 && l->focus_unexplained > 0 ? (uint64_t)run->code_grew : 0;
    if (l->code_grew > (uint64_t)l->focus_unexplained)
        l->code_grew = (uint64_t)l->focus_unexplained;
    return 1;
}

int mt_ledger_capture(struct mt_books *b, uint32_t ledger)
{
    struct mt_ledger *l = &b->driver->ledgers.p[ledger];
    const struct mt_ledger_run *run = &b->run[ledger];
    struct {
        uint64_t size;
        mt_stack_id stack;
        bool has_va;
    } *top = mt_calloc((size_t)b->rows.n + 1, sizeof *top);
    int ok = top != NULL;
    for (uint32_t i = 0; ok && i < b->held_cap; i++) {
        const struct mt_held *h = &b->held[i];
        if (!h->used || h->row == MT_NONE32 || (h->flags & MT_HF_MANAGED) != 0)
            continue;
        if (h->space == MT_SP_MAPPED)
            top[h->row].has_va = true;
        else if (h->size > top[h->row].size ||
                 (h->size == top[h->row].size && h->stack < top[h->row].stack)) {
            top[h->row].size = h->size;
            top[h->row].stack = h->stack;
        }
    }
    for (uint32_t i = 0; ok && i < b->rows.n; i++) {
        const struct mt_row *w = &b->rows.p[i];
        const struct mt_proc *p = &b->proc[w->proc];
        struct mt_ledger_row *r;
        if (w->ledger != ledger ||
            (w->bytes == 0 && (w->peak < UINT64_C(1) << 20 || w->holder != MT_HOLD_ENGINE)))
            continue; /* a row without bytes stays where an engine sleeps there */
        r = MT_VEC_PUSH(&l->rows);
        ok = r != NULL;
        if (!ok)
            break;
        *r = (struct mt_ledger_row){.holder = w->holder,
                                    .driver = p->driver,
                                    .process = p->process,
                                    .bytes = w->bytes,
                                    .peak = w->peak,
                                    .n_live = w->n_live};
        if (w->lib != 0)
            r->library = mt_strndup(b->libs.name.p[w->lib], strlen(b->libs.name.p[w->lib]));
        r->label = mt_native_site(&b->libs, &b->who[p->driver], top[i].stack);
        if (top[i].has_va || w->holder == MT_HOLD_ENGINE)
            r->reserved_va = reserved_only(b, w);
        ok = r->label != NULL && (w->lib == 0 || r->library != NULL) && !b->nomem;
    }
    mt_free(top);
    if (!ok)
        return 0;
    l->focus_ns = b->now;
    l->focus_named = run->named;
    l->managed_focus = run->managed;
    l->focus_used = 0;
    if (run->has_sample) {
        l->focus_unexplained = mt_ledger_unexplained(run);
        l->focus_used =
            (uint64_t)((int64_t)run->named + run->by[MT_HOLD_OTHER] + l->focus_unexplained);
        if ((run->by[MT_HOLD_OTHER] != 0 &&
             whole_row(l, MT_HOLD_OTHER, run->by[MT_HOLD_OTHER]) == NULL) ||
            whole_row(l, MT_HOLD_UNEXPLAINED, l->focus_unexplained) == NULL)
            return 0;
    }
    l->focus_within = 0;
    if (l->focus_used != 0 && run->within > 0 && l->focus_unexplained > 0)
        l->focus_within = run->within < l->focus_unexplained ? (uint64_t)run->within
                                                             : (uint64_t)l->focus_unexplained;
    l->focus_free =
        l->capacity > l->focus_used && l->focus_used != 0 ? l->capacity - l->focus_used : 0;
    if (l->rows.n > 1)
        qsort(l->rows.p, l->rows.n, sizeof *l->rows.p, by_size);
    return capture_code(b, ledger);
}
