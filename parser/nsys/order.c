/* nsys/order.c -- cards by what the session knows of them, and everything in the order that
 * driver.h promises. */
#include "parser/nsys/impl.h"

#include <stdlib.h>
#include <string.h>

/* The card's row that a process calls its device `ordinal`; without such a list cards have one
 * number for all. */
static int64_t card_of(const struct mt_ns *m, uint32_t pid, uint32_t ordinal)
{
    for (uint32_t i = 0; i < m->views.n; i++)
        if (m->views.p[i].pid == (int64_t)pid && m->views.p[i].ordinal == (int64_t)ordinal)
            return m->views.p[i].id;
    return (int64_t)ordinal;
}

static uint32_t gpu_of(struct mt_ns *m, int64_t id)
{
    struct mt_ns_card *c;
    for (uint32_t i = 0; i < m->cards.n; i++)
        if (m->cards.p[i].id == id)
            return i;
    c = MT_VEC_PUSH(&m->cards);
    if (c == NULL) {
        mt_ns_nomem(m);
        return MT_NONE32;
    }
    memset(c, 0, sizeof *c);
    c->id = id;
    c->gpu.host = m->host;
    return m->cards.n - 1;
}

/* How the process calls the card: noted once. */
static uint32_t view_of(struct mt_ns *m, uint32_t process, uint32_t ordinal)
{
    struct mt_gpu_view *v;
    uint32_t gpu;
    for (uint32_t i = m->d->views.n; i-- > 0;)
        if (m->d->views.p[i].process == process && m->d->views.p[i].index == ordinal)
            return m->d->views.p[i].gpu;
    gpu = gpu_of(m, card_of(m, m->d->processes.p[process].pid, ordinal));
    v = gpu != MT_NONE32 ? MT_VEC_PUSH(&m->d->views) : NULL;
    if (v == NULL) {
        if (!m->fatal)
            mt_ns_nomem(m);
        return MT_NONE32;
    }
    *v = (struct mt_gpu_view){process, gpu, ordinal, (int32_t)ordinal};
    return gpu;
}

static int cards(struct mt_ns *m)
{
    uint32_t process = MT_NONE32, ordinal = 0, gpu = MT_NONE32;
    for (uint32_t i = 0; i < m->d->calls.n; i++) {
        struct mt_call *k = &m->d->calls.p[i];
        if (k->gpu == MT_NONE32)
            continue;
        if (k->process != process || k->gpu != ordinal) {
            process = k->process;
            ordinal = k->gpu;
            if ((gpu = view_of(m, process, ordinal)) == MT_NONE32)
                return 0;
        }
        k->gpu = gpu;
    }
    for (uint32_t i = 0; i < m->cards.n; i++) {
        struct mt_gpu *to = MT_VEC_PUSH(&m->d->gpus);
        if (to == NULL)
            return mt_ns_nomem(m);
        *to = m->cards.p[i].gpu;
    }
    return 1;
}

static int by_start(const void *pa, const void *pb)
{
    const struct mt_process *a = pa, *b = pb;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->uid < b->uid ? -1 : a->uid > b->uid;
}

static int by_time(const void *pa, const void *pb)
{
    const struct mt_call *a = pa, *b = pb;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->rare < b->rare ? -1 : a->rare > b->rare;
}

static int by_begin(const void *pa, const void *pb)
{
    const struct mt_nvtx *a = pa, *b = pb;
    if (a->t0_ns != b->t0_ns)
        return a->t0_ns < b->t0_ns ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return a->t1_ns > b->t1_ns ? -1 : a->t1_ns < b->t1_ns; /* the outer one first */
}

/* Processes by when they began: place[old] = new. */
static int processes(struct mt_ns *m)
{
    uint32_t n = m->d->processes.n, *place = mt_malloc((n + (size_t)1) * sizeof *place);
    if (place == NULL)
        return mt_ns_nomem(m);
    for (uint32_t i = 0; i < n; i++)
        m->d->processes.p[i].first_call = i;
    if (n > 1)
        qsort(m->d->processes.p, n, sizeof *m->d->processes.p, by_start);
    for (uint32_t i = 0; i < n; i++)
        place[m->d->processes.p[i].first_call] = i;
    for (uint32_t i = 0; i < m->d->calls.n; i++)
        m->d->calls.p[i].process = place[m->d->calls.p[i].process];
    for (uint32_t i = 0; i < m->d->ranges.n; i++)
        m->d->ranges.p[i].process = place[m->d->ranges.p[i].process];
    for (uint32_t i = 0; i < m->d->views.n; i++)
        m->d->views.p[i].process = place[m->d->views.p[i].process];
    mt_free(place);
    return 1;
}

int mt_ns_order(struct mt_ns *m)
{
    struct mt_driver *d = m->d;
    uint64_t end = 0;
    uint32_t at = 0;
    if (!cards(m) || !processes(m))
        return 0;
    if (d->calls.n > 1)
        qsort(d->calls.p, d->calls.n, sizeof *d->calls.p, by_time);
    if (d->ranges.n > 1)
        qsort(d->ranges.p, d->ranges.n, sizeof *d->ranges.p, by_begin);
    for (uint32_t i = 0; i < d->calls.n; i++)
        d->calls.p[i].rare = 0;
    for (uint32_t i = 0; i < d->processes.n; i++)
        end = d->processes.p[i].last_ns > end ? d->processes.p[i].last_ns : end;
    for (uint32_t i = 0; i < d->processes.n; i++) {
        d->processes.p[i].last_ns = end; /* when it ended is not said: what it had is still its */
        d->processes.p[i].first_call = at;
        d->processes.p[i].n_records = d->processes.p[i].n_calls;
        at += d->processes.p[i].n_calls;
    }
    return 1;
}
