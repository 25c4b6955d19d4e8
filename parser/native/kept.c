/* native/kept.c -- a recording that keeps the newest: its chunks begin at a number, and a
 * checkpoint stands for those before it. The checkpoint comes before the chunks of its process.
 * Traces of a process that were taken one after the other can be put together: the first checkpoint
 * that comes counts, or none where chunks came before it; the others hold nothing that is not there
 * already. */
#include "parser/native/impl.h"

#include <string.h>

/* The first chunk that is left, by the record that a checkpoint's chunk begins with; false: no part
 * of a checkpoint. */
static bool first_of(const unsigned char *h, uint32_t used, uint64_t *first)
{
    struct mt_cursor c = {h + MT_WIRE_HEADER, h + MT_WIRE_HEADER + used, false};
    uint64_t type = mt_cur_u(&c);
    (void)mt_cur_u(&c);
    *first = mt_cur_u(&c);
    return !c.bad && type == MT_WR_CHECKPOINT;
}

bool mt_native_is_left(struct mt_native *n, const unsigned char *h, uint32_t used)
{
    struct mt_native_process *q = &n->procs.p[n->process];
    uint64_t first;
    if (n->kind == MT_WK_PROCESS)
        return mt_get64(h + MT_WH_SEQ) >= q->first_seq;
    if (n->kind != MT_WK_KEPT || !first_of(h, used, &first))
        return true;
    if (!q->has_checkpoint) {
        if (q->has_chunks)
            return false;
        q->has_checkpoint = true;
        q->first_seq = first;
    }
    q->parts += q->first_seq == first;
    return q->first_seq == first;
}

int mt_native_checkpoint(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_native_process *q = &n->procs.p[n->process];
    struct mt_process *p = &n->d->processes.p[n->process];
    uint64_t base = n->chunk_ns, time, start, parts;
    (void)mt_cur_u(c); /* as mt_native_is_left() has read it */
    time = base + (uint64_t)mt_unzigzag(mt_cur_u(c));
    start = base + (uint64_t)mt_unzigzag(mt_cur_u(c));
    parts = mt_cur_u(c);
    uint64_t records = mt_cur_u(c);
    (void)mt_cur_u(c); /* calls */
    uint64_t failures = mt_cur_u(c);
    if (c->bad || n->mute || n->kind != MT_WK_KEPT)
        return 1;
    p->whole_ns = time;
    p->n_let_go = records;
    p->n_failures_let_go = failures;
    if (p->first_ns == 0 || start < p->first_ns)
        p->first_ns = start;
    if (parts > q->parts_said)
        q->parts_said = parts;
    return 1;
}
