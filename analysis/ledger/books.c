/* The books: one open-addressed table of everything that is held, and the sums
 * that it makes. */
#include "analysis/ledger/impl.h"
#include "parser/base/secret.h"

static uint32_t hash(uint64_t key, uint32_t proc, uint32_t space)
{
    return mt_hash_pair(key, (uint64_t)proc << 32 | space);
}

static uint32_t slot_of(const struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key)
{
    uint32_t mask = b->held_cap - 1, i = hash(key, proc, space) & mask;
    while (b->held[i].used &&
           (b->held[i].key != key || b->held[i].proc != proc || b->held[i].space != (uint8_t)space))
        i = (i + 1) & mask;
    return i;
}

struct mt_held *mt_held_find(struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key)
{
    uint32_t i;
    if (b->held_cap == 0)
        return NULL;
    i = slot_of(b, proc, space, key);
    return b->held[i].used ? &b->held[i] : NULL;
}

static int grow(struct mt_books *b)
{
    struct mt_held *old = b->held;
    uint32_t old_cap = b->held_cap, cap = old_cap != 0 ? old_cap * 2 : 1024;
    struct mt_held *fresh = cap > old_cap ? mt_calloc(cap, sizeof *fresh) : NULL;
    if (fresh == NULL)
        return 0;
    b->held = fresh;
    b->held_cap = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i].used)
            fresh[slot_of(b, old[i].proc, (enum mt_space)old[i].space, old[i].key)] = old[i];
    mt_free(old);
    return 1;
}

struct mt_held *mt_held_add(struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key)
{
    struct mt_held *h;
    if ((uint64_t)b->n_held * 3 >= (uint64_t)b->held_cap * 2 && !grow(b)) {
        b->nomem = true;
        return NULL;
    }
    h = &b->held[slot_of(b, proc, space, key)];
    memset(h, 0, sizeof *h);
    h->key = key;
    h->proc = proc;
    h->space = (uint8_t)space;
    h->row = MT_NONE32;
    h->refs = 1;
    h->used = true;
    b->n_held++;
    return h;
}

/* Deletes a slot by moving up what follows in the same run, so that no marks of deleted entries
 * pile up. */
void mt_held_drop(struct mt_books *b, struct mt_held *h)
{
    uint32_t mask = b->held_cap - 1, hole = (uint32_t)(h - b->held), i = hole;
    b->n_held--;
    for (;;) {
        uint32_t home;
        i = (i + 1) & mask;
        if (!b->held[i].used)
            break;
        home = hash(b->held[i].key, b->held[i].proc, b->held[i].space) & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        b->held[hole] = b->held[i];
        hole = i;
    }
    b->held[hole].used = false;
}

static uint64_t row_key(uint32_t proc, uint32_t ledger, struct mt_who w)
{
    return ((uint64_t)w.lib << 32 | (uint64_t)w.holder << 24) ^ ((uint64_t)ledger << 44) ^ proc;
}

static struct mt_row_slot *row_slot(struct mt_books *b, uint32_t proc, uint32_t ledger,
                                    struct mt_who w)
{
    uint32_t mask = b->n_row_slots - 1, i = hash(row_key(proc, ledger, w), 0, 0) & mask;
    for (; b->row_slot[i].row != 0; i = (i + 1) & mask) {
        const struct mt_row *r = &b->rows.p[b->row_slot[i].row - 1];
        if (r->proc == proc && r->ledger == ledger && r->holder == (enum mt_holder)w.holder &&
            r->lib == w.lib)
            break;
    }
    return &b->row_slot[i];
}

static int grow_rows(struct mt_books *b)
{
    uint32_t n = b->n_row_slots != 0 ? b->n_row_slots * 2 : 256;
    struct mt_row_slot *fresh = mt_calloc(n, sizeof *fresh);
    if (fresh == NULL)
        return 0;
    mt_free(b->row_slot);
    b->row_slot = fresh;
    b->n_row_slots = n;
    for (uint32_t i = 0; i < b->rows.n; i++) {
        const struct mt_row *r = &b->rows.p[i];
        row_slot(b, r->proc, r->ledger, (struct mt_who){(uint8_t)r->holder, r->lib})->row = i + 1;
    }
    return 1;
}

uint32_t mt_row_of(struct mt_books *b, uint32_t proc, uint32_t ledger, struct mt_who w)
{
    struct mt_row_slot *s;
    struct mt_row *r;
    if (b->rows.n * 2 >= b->n_row_slots && !grow_rows(b)) {
        b->nomem = true;
        return MT_NONE32;
    }
    s = row_slot(b, proc, ledger, w);
    if (s->row != 0)
        return s->row - 1;
    r = MT_VEC_PUSH(&b->rows);
    if (r == NULL) {
        b->nomem = true;
        return MT_NONE32;
    }
    r->proc = proc;
    r->ledger = ledger;
    r->lib = w.lib;
    r->holder = (enum mt_holder)w.holder;
    s->row = b->rows.n;
    return b->rows.n - 1;
}

int64_t mt_row_moved(const struct mt_ledger_run *r, uint64_t since)
{
    const struct mt_lately *k = &r->lately;
    for (uint64_t i = k->n; i > 0 && k->n - i < MT_LATELY; i--)
        if (k->time_ns[(i - 1) % MT_LATELY] <= since)
            return (int64_t)(r->named - k->named[(i - 1) % MT_LATELY]);
    return k->n <= MT_LATELY ? (int64_t)r->named : 0;
}

uint64_t mt_row_move(struct mt_books *b, uint32_t row, int64_t delta, int live)
{
    struct mt_row *r = &b->rows.p[row];
    struct mt_ledger_run *run = &b->run[r->ledger];
    struct mt_proc *p = &b->proc[r->proc];
    uint64_t lost = 0;
    mt_ledger_touch(b, r->ledger);
    if (delta < 0 && r->bytes + delta < 0) {
        lost = (uint64_t) - (r->bytes + delta);
        delta = -r->bytes;
    }
    r->bytes += delta;
    r->n_live = live < 0 && r->n_live == 0 ? 0 : r->n_live + (uint64_t)(int64_t)live;
    run->by[r->holder] += delta;
    run->named += (uint64_t)delta;
    run->lately.time_ns[run->lately.n % MT_LATELY] = b->now;
    run->lately.named[run->lately.n++ % MT_LATELY] = run->named;
    p->bytes += (uint64_t)delta;
    bool whole = mt_proc_is_whole(b, r->proc);
    if (whole && (uint64_t)r->bytes > r->peak)
        r->peak = (uint64_t)r->bytes;
    if (delta > 0) {
        if (whole && p->bytes > p->sum.peak) {
            p->sum.peak = p->bytes;
            p->sum.peak_ns = b->now;
        }
        mt_ledger_grew(b, r->ledger);
    }
    return lost;
}
