/* What of a GPU is written down as time goes on: the columns of its curve, and its peak. */
#include "analysis/ledger/impl.h"

int64_t mt_ledger_unexplained(const struct mt_ledger_run *r)
{
    int64_t known = (int64_t)r->named + r->by[MT_HOLD_OTHER];
    return r->by[MT_HOLD_UNEXPLAINED] < -known ? -known : r->by[MT_HOLD_UNEXPLAINED];
}

static void record(struct mt_ledger *l, const struct mt_ledger_run *r)
{
    int64_t *by = l->by_holder + (size_t)r->column * MT_HOLD_COUNT;
    memcpy(by, r->by, sizeof r->by);
    by[MT_HOLD_UNEXPLAINED] = r->has_sample ? mt_ledger_unexplained(r) : 0;
    l->named[r->column] = r->named;
    l->used[r->column] =
        r->has_sample ? (uint64_t)((int64_t)r->named + by[MT_HOLD_OTHER] + by[MT_HOLD_UNEXPLAINED])
                      : 0;
}

bool mt_ledger_is_whole(const struct mt_books *b, uint32_t ledger)
{
    return b->now >= b->driver->ledgers.p[ledger].whole_ns;
}

bool mt_proc_is_whole(const struct mt_books *b, uint32_t proc)
{
    return b->now >= b->proc[proc].whole_ns;
}

void mt_ledger_touch(struct mt_books *b, uint32_t ledger)
{
    struct mt_ledger *l = &b->driver->ledgers.p[ledger];
    struct mt_ledger_run *r = &b->run[ledger];
    uint32_t column;
    if (b->second_pass || l->n_columns == 0 || b->now < l->t0_ns)
        return;
    column = (uint32_t)((b->now < l->t1_ns ? b->now : l->t1_ns) - l->t0_ns == 0
                            ? 0
                            : ((b->now < l->t1_ns ? b->now : l->t1_ns) - l->t0_ns) / r->width);
    while (r->column < column) { /* a column begins with what was held before it */
        r->column++;
        record(l, r);
    }
}

void mt_ledger_grew(struct mt_books *b, uint32_t ledger)
{
    struct mt_ledger *l = &b->driver->ledgers.p[ledger];
    struct mt_ledger_run *r = &b->run[ledger];
    if (!mt_ledger_is_whole(b, ledger))
        return;
    if (r->named > b->high_since) {
        b->high_since = r->named;
        b->high_ledger = ledger;
    }
    if (b->second_pass || l->n_columns == 0)
        return;
    if (r->named >= l->named[r->column])
        record(l, r);
    if (r->named > l->peak_named) {
        l->peak_named = r->named;
        l->peak_ns = b->now;
        r->peak_seq = b->seq;
        r->peak_used = 0;
    }
}
