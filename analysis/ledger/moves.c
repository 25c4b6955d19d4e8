/* Which call began and which ended what is held of a GPU. */
#include "analysis/ledger/impl.h"

static struct mt_ledger_move *push(struct mt_books *b, uint32_t row, uint64_t size)
{
    const struct mt_row *r = &b->rows.p[row];
    const struct mt_proc *p = &b->proc[r->proc];
    struct mt_ledger *l = &b->driver->ledgers.p[r->ledger];
    const struct mt_driver_phase *coarse, *sub;
    struct mt_ledger_move *m;
    if (b->second_pass || l->moves_left_out)
        return NULL;
    if (b->n_moves == MT_MAX_MOVES) {
        b->n_moves -= l->moves.n;
        MT_VEC_DONE(&l->moves);
        l->moves_left_out = true;
        return NULL;
    }
    m = MT_VEC_PUSH(&l->moves);
    if (m == NULL) {
        b->nomem = true;
        return NULL;
    }
    b->n_moves++;
    coarse = mt_driver_phase_at(b, r->proc, b->now, true);
    sub = mt_driver_phase_at(b, r->proc, b->now, false);
    *m = (struct mt_ledger_move){.time_ns = b->now > l->whole_ns ? b->now : l->whole_ns,
                                 .size = size,
                                 .driver = p->driver,
                                 .process = p->process,
                                 .call = b->call,
                                 .holder = (uint8_t)r->holder};
    m->phase = (uint8_t)(coarse != NULL ? coarse->phase : MT_PH_UNATTRIBUTED);
    m->sub = (uint8_t)(sub != NULL ? sub->phase : MT_PH_NONE);
    return m;
}

uint32_t mt_move_begin(struct mt_books *b, uint32_t row, uint64_t size)
{
    struct mt_ledger_move *m = push(b, row, size);
    if (m == NULL)
        return 0;
    m->begins = true;
    m->block = b->driver->ledgers.p[b->rows.p[row].ledger].n_blocks++;
    return m->block;
}

void mt_move_end(struct mt_books *b, uint32_t row, uint64_t size, uint32_t block)
{
    struct mt_ledger_move *m = push(b, row, size);
    if (m != NULL)
        m->block = block;
}

void mt_move_measured(struct mt_books *b, uint32_t row, int64_t delta)
{
    uint64_t left = delta < 0 ? -(uint64_t)delta : 0;
    if (b->second_pass)
        return;
    if (delta > 0) {
        struct mt_measured *g = MT_VEC_PUSH(&b->measured);
        if (g == NULL)
            b->nomem = true;
        else
            *g = (struct mt_measured){(uint64_t)delta, row, mt_move_begin(b, row, (uint64_t)delta)};
        return;
    }
    for (uint32_t i = b->measured.n; i-- > 0 && left != 0;) {
        struct mt_measured g = b->measured.p[i];
        if (g.row != row)
            continue;
        mt_move_end(b, row, g.size, g.block);
        if (g.size > left) { /* what of it is still there begins anew */
            b->measured.p[i].size = g.size - left;
            b->measured.p[i].block = mt_move_begin(b, row, g.size - left);
            return;
        }
        left -= g.size;
        memmove(&b->measured.p[i], &b->measured.p[i + 1],
                (b->measured.n - i - 1) * sizeof *b->measured.p);
        b->measured.n--;
    }
}
