/* Calls that failed for want of memory, and what became of their process;
 * engines that go to sleep and wake. */
#include "analysis/ledger/impl.h"

#include <stdlib.h>

/* ns; chosen by hand. docs/ledger.md says what survives a failure: PyTorch gives back its cache and
 * asks again. A shorter GO_ON takes what a job allocates while it falls apart for going on. */
#define RETRY (10 * MT_SECOND) /* who gets what it asked for within this time has survived */
#define GO_ON (30 * MT_SECOND) /* who still allocates after this time has survived as well */
/* A figure of the device that is taken so soon is that of the failure, when nothing has changed. */
#define RIGHT_THEN MT_SECOND
#define SAME_TROUBLE (2 * MT_SECOND) /* failures so close together are one run */
/* A sleep is so many unmaps of one holder, each so soon after the one before. With 1 call every
 * unmap would be a sleep. */
#define BURST_GAP MT_SECOND
enum { BURST_CALLS = 3, MAX_SLEEPS = 20000 };

static void note_held(const struct mt_books *b, struct mt_driver_oom *o, uint32_t ledger)
{
    const struct mt_ledger_run *r = &b->run[ledger];
    if (!mt_ledger_is_whole(b, ledger)) /* who held what then is no longer known */
        return;
    for (int h = 0; h < MT_HOLD_COUNT; h++)
        o->held[h] = r->by[h] > 0 ? (uint64_t)r->by[h] : 0;
    if (r->has_sample) {
        int64_t rest = mt_ledger_unexplained(r);
        o->held[MT_HOLD_UNEXPLAINED] = rest > 0 ? (uint64_t)rest : 0;
    }
}

/* Keeps a failure that its process may survive. A later failure for the same request replaces an
 * earlier one. */
static void pend(struct mt_books *b, struct mt_proc *p, uint32_t oom)
{
    const struct mt_driver_oom *o = &b->driver->ooms.p[oom];
    uint32_t at = p->n_pending;
    for (uint32_t i = 0; i < p->n_pending; i++) {
        if (p->pending[i].who == o->who && p->pending[i].request == o->request) {
            b->oom_chain.p[p->pending[i].oom] = oom;
            at = i;
        }
    }
    if (at == MT_MAX_PENDING) { /* the oldest failure counts as not survived */
        memmove(p->pending, p->pending + 1, (MT_MAX_PENDING - 1) * sizeof *p->pending);
        at--;
    } else if (at == p->n_pending) {
        p->n_pending++;
    }
    p->pending[at] = (struct mt_pending_oom){o->time_ns, o->request, oom, o->who, false};
}

void mt_oom_failed(struct mt_books *b, uint32_t proc, const struct mt_call *c, uint32_t index,
                   uint32_t ledger)
{
    struct mt_proc *p = &b->proc[proc];
    const struct mt_call_rare *rare;
    struct mt_driver_oom *o;
    struct mt_who w;
    uint64_t *seq;
    uint32_t *chain, n;
    if (b->second_pass)
        return;
    p->sum.n_ooms++;
    if (b->driver->ooms.n >= MT_MAX_OOMS)
        return;
    w = mt_call_who(b, proc, c);
    seq = MT_VEC_PUSH(&b->oom_seq);
    chain = MT_VEC_PUSH(&b->oom_chain);
    o = MT_VEC_PUSH(&b->driver->ooms);
    if (seq == NULL || chain == NULL || o == NULL) {
        b->nomem = true;
        return;
    }
    n = b->driver->ooms.n - 1;
    *seq = b->seq;
    *chain = MT_NONE32;
    o->driver = p->driver;
    o->process = p->process;
    o->call = index;
    o->ledger = ledger;
    o->time_ns = c->time_ns;
    o->request = c->size;
    o->who = (enum mt_holder)w.holder;
    o->is_host = c->op == MT_WO_HOST_ALLOC || c->op == MT_WO_HOST_REGISTER ||
                 (c->op == MT_WO_VMM_CREATE && c->location > 1);
    o->pinned = o->is_host ? p->pinned : 0;
    o->phase = MT_PH_UNATTRIBUTED;
    o->sub = MT_PH_NONE;
    o->in_wake = c->op == MT_WO_VMM_CREATE && !o->is_host && o->who == MT_HOLD_ENGINE &&
                 mt_burst_slept(b, proc, ledger, o->who);
    if (w.lib != 0) {
        o->library = mt_strndup(b->libs.name.p[w.lib], strlen(b->libs.name.p[w.lib]));
        b->nomem |= o->library == NULL;
    }
    rare = mt_call_rare(b->driver->drivers.p[p->driver]->driver, c);
    if (rare->total != 0)
        o->free = rare->free;
    note_held(b, o, ledger);
    p->open_oom = n;
    pend(b, p, n);
}

/* Whether nothing recorded has changed on the GPU since the failure. What other processes give back
 * later, as when a job falls apart, was not free then. */
static bool as_it_was(const struct mt_driver_oom *o, const struct mt_ledger_run *r)
{
    for (int h = 0; h < MT_HOLD_NAMED; h++)
        if (o->held[h] != (r->by[h] > 0 ? (uint64_t)r->by[h] : 0))
            return false;
    return true;
}

void mt_oom_free_seen(struct mt_books *b, uint32_t proc, uint32_t ledger, uint64_t free_bytes)
{
    uint32_t n = b->proc[proc].open_oom;
    struct mt_driver_oom *o;
    if (b->second_pass || n == MT_NONE32)
        return;
    o = &b->driver->ooms.p[n];
    if (o->ledger != ledger || b->now > o->time_ns + RIGHT_THEN || !as_it_was(o, &b->run[ledger]))
        return;
    if (o->free == 0)
        o->free = free_bytes;
    if (!b->proc[proc].lossless) /* what was given back since may be lost */
        return;
    note_held(b, o, ledger);
    b->oom_seq.p[n] = b->seq;
}

void mt_oom_succeeded(struct mt_books *b, uint32_t proc, enum mt_holder who, uint64_t size)
{
    struct mt_proc *p = &b->proc[proc];
    uint32_t kept = 0;
    if (b->second_pass)
        return;
    for (uint32_t i = 0; i < p->n_pending; i++) {
        struct mt_pending_oom *q = &p->pending[i];
        bool got_it = q->who == who && size >= q->request && b->now <= q->time_ns + RETRY;
        if (got_it || b->now > q->time_ns + GO_ON)
            b->driver->ooms.p[q->oom].survived = true;
        else {
            q->went_on = true;
            p->pending[kept++] = *q;
        }
    }
    p->n_pending = kept;
}

/* Marks the failure to look at of a process whose failure `last` was its last and was not survived.
 * Of its run of failures, SAME_TROUBLE apart at most, it is the last one with the request of the
 * first: by then everything that could be given back had been. */
static void find_fatal(struct mt_driverdiag *j, uint32_t last)
{
    uint32_t first = last;
    const struct mt_driver_oom *o = &j->ooms.p[last];
    uint64_t t = o->time_ns;
    for (uint32_t i = last; i-- > 0;) {
        const struct mt_driver_oom *q = &j->ooms.p[i];
        if (q->driver != o->driver || q->process != o->process || q->survived)
            continue;
        if (q->time_ns + SAME_TROUBLE < t)
            break;
        t = q->time_ns;
        first = i;
    }
    for (uint32_t i = last; i > first; i--) {
        const struct mt_driver_oom *q = &j->ooms.p[i], *f = &j->ooms.p[first];
        if (q->driver == f->driver && q->process == f->process && q->who == f->who &&
            q->request == f->request && !q->survived) {
            first = i;
            break;
        }
    }
    j->ooms.p[first].is_fatal = true;
}

/* A process that got memory after a failure and ended well has survived the failure, however soon
 * it ended. */
static void ended_well(struct mt_books *b, const struct mt_proc *p)
{
    const struct mt_process *q = &b->driver->drivers.p[p->driver]->driver->processes.p[p->process];
    if (q->end != MT_END_STATUS || q->end_status != 0)
        return;
    for (uint32_t i = 0; i < p->n_pending; i++)
        b->driver->ooms.p[p->pending[i].oom].survived |= p->pending[i].went_on;
}

void mt_oom_settle(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    for (uint32_t i = 0; i < b->n_procs; i++)
        ended_well(b, &b->proc[i]);
    for (uint32_t i = j->ooms.n;
         i-- > 0;) { /* backwards: a later failure of a chain decides over the earlier ones */
        struct mt_driver_oom *o = &j->ooms.p[i];
        if (b->oom_chain.p[i] != MT_NONE32 && j->ooms.p[b->oom_chain.p[i]].survived)
            o->survived = true;
        j->n_survived += o->survived;
    }
    for (uint32_t p = 0; p < b->n_procs; p++) {
        uint32_t last = MT_NONE32;
        if (b->proc[p].sum.n_ooms == 0)
            continue;
        for (uint32_t i = 0; i < j->ooms.n; i++)
            if (j->ooms.p[i].driver == b->proc[p].driver &&
                j->ooms.p[i].process == b->proc[p].process && !j->ooms.p[i].survived)
                last = i;
        if (last != MT_NONE32)
            find_fatal(j, last);
    }
}

int mt_oom_finish(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        struct mt_driver_oom *o = &j->ooms.p[i];
        uint32_t proc = b->proc_of[o->driver][o->process];
        const struct mt_call *c = &j->drivers.p[o->driver]->driver->calls.p[o->call];
        const struct mt_driver_phase *coarse = mt_driver_phase_at(b, proc, o->time_ns, true);
        const struct mt_driver_phase *sub = mt_driver_phase_at(b, proc, o->time_ns, false);
        if (coarse != NULL) {
            o->phase = coarse->phase;
            o->phase_mark = coarse->driver == o->driver ? coarse->name : 0;
        }
        if (sub != NULL)
            o->sub = sub->phase;
        o->label = mt_native_site(&b->libs, &b->who[o->driver], c->stack);
        if (o->label == NULL)
            return 0;
    }
    return 1;
}

/* ---- sleep and wake ---- */

static struct mt_burst *burst_of(struct mt_books *b, uint32_t proc, uint32_t ledger,
                                 enum mt_holder who)
{
    /* a linear search: there is one for each process and holder that maps */
    for (uint32_t i = 0; i < b->bursts.n; i++) {
        struct mt_burst *u = &b->bursts.p[i];
        if (u->proc == proc && u->ledger == ledger && u->who == who)
            return u;
    }
    return NULL;
}

static void close_burst(struct mt_books *b, struct mt_burst *u)
{
    struct mt_sleep *s;
    if (!u->open)
        return;
    u->open = false;
    if (u->n < BURST_CALLS || b->second_pass || b->driver->sleeps.n >= MAX_SLEEPS)
        return;
    s = MT_VEC_PUSH(&b->driver->sleeps);
    if (s == NULL) {
        b->nomem = true;
        return;
    }
    *s = (struct mt_sleep){.driver = b->proc[u->proc].driver,
                           .process = b->proc[u->proc].process,
                           .ledger = u->ledger,
                           .who = u->who,
                           .is_wake = u->is_wake,
                           .t0_ns = u->t0,
                           .t1_ns = u->t1,
                           .bytes = u->bytes,
                           .n_calls = u->n,
                           .left = u->left};
}

static uint64_t held_by(const struct mt_books *b, const struct mt_burst *u)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->rows.n; i++)
        if (b->rows.p[i].proc == u->proc && b->rows.p[i].ledger == u->ledger &&
            b->rows.p[i].holder == u->who)
            sum += (uint64_t)b->rows.p[i].bytes;
    return sum;
}

void mt_burst_call(struct mt_books *b, uint32_t row, bool is_wake, uint64_t bytes)
{
    const struct mt_row *r = &b->rows.p[row];
    struct mt_burst *u;
    if (b->second_pass || !mt_proc_is_whole(b, r->proc) ||
        (r->holder != MT_HOLD_ENGINE && r->holder != MT_HOLD_TORCH &&
         r->holder != MT_HOLD_UNKNOWN && r->holder != MT_HOLD_LIBRARY))
        return; /* NCCL and others map many buffers at a time, too, and never sleep */
    u = burst_of(b, r->proc, r->ledger, r->holder);
    if (u == NULL) {
        u = MT_VEC_PUSH(&b->bursts);
        if (u == NULL) {
            b->nomem = true;
            return;
        }
        u->proc = r->proc;
        u->ledger = r->ledger;
        u->who = r->holder;
    }
    u->slept |= !is_wake;
    if (r->holder == MT_HOLD_LIBRARY && !u->slept)
        return; /* the first mappings of a library are its set-up, no wake */
    if (u->open && (u->is_wake != is_wake || b->now >= u->t1 + BURST_GAP))
        close_burst(b, u);
    if (!u->open)
        *u = (struct mt_burst){u->proc, u->ledger, u->who, is_wake, true,    b->now,
                               b->now,  0,         0,      0,       u->slept};
    u->t1 = b->now;
    u->n++;
    u->bytes += bytes < UINT64_C(1) << 46 ? bytes : 0;
    u->left = held_by(b, u);
}

void mt_burst_update(struct mt_books *b, uint32_t row)
{
    const struct mt_row *r = &b->rows.p[row];
    struct mt_burst *u = b->second_pass ? NULL : burst_of(b, r->proc, r->ledger, r->holder);
    if (u == NULL || !u->open || u->is_wake || b->now >= u->t1 + BURST_GAP)
        return;
    u->left = held_by(b, u);
}

void mt_burst_end(struct mt_books *b, uint32_t proc)
{
    for (uint32_t i = 0; i < b->bursts.n; i++)
        if (b->bursts.p[i].proc == proc)
            close_burst(b, &b->bursts.p[i]);
}

bool mt_burst_slept(const struct mt_books *b, uint32_t proc, uint32_t ledger, enum mt_holder who)
{
    for (uint32_t i = 0; i < b->bursts.n; i++) {
        const struct mt_burst *u = &b->bursts.p[i];
        if (u->proc == proc && u->ledger == ledger && u->who == who)
            return u->slept;
    }
    return false;
}

static int by_begin(const void *pa, const void *pb)
{
    const struct mt_sleep *a = pa, *b = pb;
    if (a->t0_ns != b->t0_ns)
        return a->t0_ns < b->t0_ns ? -1 : 1;
    if (a->driver != b->driver)
        return a->driver < b->driver ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->who < b->who ? -1 : a->who > b->who;
}

int mt_sleep_finish(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->bursts.n; i++)
        close_burst(b, &b->bursts.p[i]);
    if (b->driver->sleeps.n > 1)
        qsort(b->driver->sleeps.p, b->driver->sleeps.n, sizeof *b->driver->sleeps.p, by_begin);
    return !b->nomem;
}
