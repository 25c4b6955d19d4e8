/* The replay: calls, samples and ends of all processes in the order of their
 * time, and what a GPU's columns show of it. */
#include "analysis/ledger/impl.h"

/* ---- columns ---- */

static uint32_t ledger_of_call(const struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    const struct mt_proc *p = &b->proc[proc];
    uint32_t n_gpus = b->driver->drivers.p[p->driver]->driver->gpus.n;
    uint32_t gpu = c->gpu < n_gpus ? c->gpu : n_gpus;
    return gpu == n_gpus && p->only_ledger != MT_NONE32 ? p->only_ledger
                                                        : b->ledger_of[p->driver][gpu];
}

static void include(struct mt_ledger *l, uint64_t t)
{
    if (t == 0 || t < l->whole_ns)
        return;
    if (l->t0_ns == 0 || t < l->t0_ns)
        l->t0_ns = t;
    if (t > l->t1_ns)
        l->t1_ns = t;
}

/* A GPU's sums are whole where those of all processes are that used it. */
static void find_whole(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->n_procs; i++) {
        const struct mt_proc *p = &b->proc[i];
        const struct mt_driver *d = b->driver->drivers.p[p->driver]->driver;
        const struct mt_process *q = &d->processes.p[p->process];
        for (uint32_t k = 0; p->whole_ns != 0 && k < q->n_calls; k++) {
            uint32_t l = ledger_of_call(b, i, &d->calls.p[q->first_call + k]);
            if (b->driver->ledgers.p[l].whole_ns < p->whole_ns)
                b->driver->ledgers.p[l].whole_ns = p->whole_ns;
        }
    }
    for (uint32_t i = 0; i < b->driver->ledgers.n; i++)
        include(&b->driver->ledgers.p[i], b->driver->ledgers.p[i].whole_ns);
}

int mt_ledgers_open(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    find_whole(b);
    for (uint32_t i = 0; i < b->n_procs; i++) {
        const struct mt_proc *p = &b->proc[i];
        const struct mt_driver *d = j->drivers.p[p->driver]->driver;
        const struct mt_process *q = &d->processes.p[p->process];
        for (uint32_t k = 0; k < q->n_calls; k++) {
            const struct mt_call *c = &d->calls.p[q->first_call + k];
            uint32_t gpu = c->gpu < d->gpus.n ? c->gpu : d->gpus.n;
            uint32_t l = ledger_of_call(b, i, c);
            include(&j->ledgers.p[l], c->time_ns);
            include(&j->ledgers.p[l], q->last_ns);
            b->run[l].n_calls +=
                gpu < d->gpus.n || (c->op != MT_WO_OTHER && c->op != MT_WO_VMM_RESERVE);
            if (c->op == MT_WO_MEM_INFO && mt_call_rare(d, c)->total > j->ledgers.p[l].capacity)
                j->ledgers.p[l].capacity = mt_call_rare(d, c)->total;
        }
    }
    for (uint32_t i = 0; i < j->drivers.n; i++) {
        const struct mt_driver *d = j->drivers.p[i]->driver;
        for (uint32_t k = 0; k < d->samples.n; k++) {
            const struct mt_gpu_sample *s = &d->samples.p[k];
            uint32_t l;
            if (s->gpu >= d->gpus.n)
                continue;
            l = b->ledger_of[i][s->gpu];
            include(&j->ledgers.p[l], s->time_ns);
            b->run[l].n_samples++;
            /* Not `total`, in which NVML counts the driver's reserve: 480 MiB of an H100 that
             * nobody gets, and that are not in what cuMemGetInfo and PyTorch's errors call the
             * total. */
            if (s->used + s->free > j->ledgers.p[l].capacity && s->used + s->free <= s->total)
                j->ledgers.p[l].capacity = s->used + s->free;
        }
    }
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        struct mt_ledger *l = &j->ledgers.p[i];
        uint64_t span = l->t1_ns - l->t0_ns;
        l->checks_are_mem_info = b->run[i].n_samples == 0;
        if (b->o->capacity != 0)
            l->capacity = b->o->capacity;
        b->run[i].width = span / MT_TL_COLUMNS + 1;
        if (l->t0_ns == 0)
            continue;
        l->n_columns = (uint32_t)(span / b->run[i].width) + 1;
        l->by_holder = mt_calloc((size_t)l->n_columns * MT_HOLD_COUNT, sizeof *l->by_holder);
        l->named = mt_calloc(l->n_columns, sizeof *l->named);
        l->used = mt_calloc(l->n_columns, sizeof *l->used);
        l->phase = mt_calloc(l->n_columns, sizeof *l->phase);
        if (l->by_holder == NULL || l->named == NULL || l->used == NULL || l->phase == NULL)
            return 0;
    }
    return 1;
}

void mt_ledger_sample(struct mt_books *b, uint32_t ledger, uint64_t used, uint64_t other)
{
    struct mt_ledger *l = &b->driver->ledgers.p[ledger];
    struct mt_ledger_run *r = &b->run[ledger];
    struct mt_ledger_check *c;
    int64_t rest = (int64_t)used - (int64_t)r->named - (int64_t)other;
    uint64_t size = rest < 0 ? (uint64_t)-rest : (uint64_t)rest;
    mt_ledger_touch(b, ledger);
    if (r->has_sample && r->code_came)
        r->code_grew += rest - r->by[MT_HOLD_UNEXPLAINED];
    r->code_came = false;
    r->by[MT_HOLD_OTHER] = (int64_t)other;
    r->by[MT_HOLD_UNEXPLAINED] = rest;
    r->has_sample = true;
    mt_ledger_grew(b, ledger);
    if (b->second_pass || !mt_ledger_is_whole(b, ledger))
        return;
    c = MT_VEC_PUSH(&l->checks);
    if (c == NULL) {
        b->nomem = true;
        return;
    }
    *c = (struct mt_ledger_check){b->now, used, r->named, other, rest};
    if (size > l->max_unexplained)
        l->max_unexplained = size;
    /* of equal moments the one at which the device's figure is known */
    if (r->named != 0 && r->named == l->peak_named && used > r->peak_used) {
        r->peak_used = used;
        r->peak_seq = b->seq;
        l->peak_ns = b->now;
    }
    if (used > l->peak_used) {
        l->peak_used = used;
        l->peak_used_ns = b->now;
        r->used_seq = b->seq;
    }
}

/* ---- samples ---- */

static void sample(struct mt_books *b, uint32_t driver, const struct mt_gpu_sample *s)
{
    const struct mt_driver *d = b->driver->drivers.p[driver]->driver;
    uint64_t other = 0, ours = 0;
    uint32_t proc, ledger, n_ours = 0, n = 0;
    if (s->gpu >= d->gpus.n || s->process >= d->processes.n || s->used > UINT64_C(1) << 60)
        return;
    proc = b->proc_of[driver][s->process];
    ledger = b->ledger_of[driver][s->gpu];
    if (proc == MT_NONE32)
        return;
    for (uint32_t i = 0; i < s->n_uses && (uint64_t)s->first_use + i < d->uses.n; i++) {
        const struct mt_gpu_use *u = &d->uses.p[s->first_use + i];
        n++;
        bool is = mt_proc_listed(b, b->proc[proc].host, u->pid, b->now) != MT_NONE32;
        n_ours += is;
        if (u->used <= UINT64_C(1) << 60)
            *(is ? &ours : &other) += u->used;
    }
    if (n != 0 && n_ours == 0 && b->run[ledger].named != 0) {
        b->driver->ledgers.p[ledger].foreign_pids = true;
        other = 0;
    }
    if (other > s->used)
        other = s->used;
    b->driver->ledgers.p[ledger].records_lost |= !b->proc[proc].lossless;
    b->run[ledger].within =
        ours != 0 && ours <= s->used ? (int64_t)(ours - b->run[ledger].named) : 0;
    mt_ledger_sample(b, ledger, s->used, other);
    if (s->why == MT_WY_OOM && s->total != 0)
        mt_oom_free_seen(b, proc, ledger, s->free);
}

/* What the driver answered about the device, also to a call that failed. */
static void mem_info(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    const struct mt_proc *p = &b->proc[proc];
    const struct mt_driver *d = b->driver->drivers.p[p->driver]->driver;
    const struct mt_call_rare *r = mt_call_rare(d, c);
    uint32_t ledger = c->gpu < d->gpus.n ? b->ledger_of[p->driver][c->gpu] : p->only_ledger;
    if (ledger == MT_NONE32 || r->total == 0 || r->total < r->free || r->total > UINT64_C(1) << 60)
        return;
    if (b->driver->ledgers.p[ledger].checks_are_mem_info || c->result != 0)
        mt_ledger_sample(b, ledger, r->total - r->free, (uint64_t)b->run[ledger].by[MT_HOLD_OTHER]);
}

/* Keeps CUPTI's pool record with the most bytes that are not in use. */
static void pools(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->driver->drivers.n; i++) {
        const struct mt_driver *d = b->driver->drivers.p[i]->driver;
        for (uint32_t k = 0; k < d->activities.n; k++) {
            const struct mt_activity *a = &d->activities.p[k];
            struct mt_ledger *l;
            if (!a->is_pool || a->gpu >= d->gpus.n || a->size < a->utilized)
                continue;
            l = &b->driver->ledgers.p[b->ledger_of[i][a->gpu]];
            if (l->pool_size == 0 || a->size - a->utilized > l->pool_size - l->pool_used) {
                l->pool_size = a->size;
                l->pool_used = a->utilized;
            }
        }
    }
}

/* ---- the merge ---- */

enum kind { CALLS, WHOLE, SAMPLES, PROBES, END };
struct source {
    uint64_t time;
    uint32_t of, at, n;
    enum kind kind;
};

static bool before(const struct source *a, const struct source *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->of < b->of;
}

static void sift(struct source *h, uint32_t n, uint32_t i)
{
    for (;;) {
        uint32_t k = 2 * i + 1;
        struct source t;
        if (k >= n)
            return;
        if (k + 1 < n && before(&h[k + 1], &h[k]))
            k++;
        if (!before(&h[k], &h[i]))
            return;
        t = h[i];
        h[i] = h[k];
        h[k] = t;
        i = k;
    }
}

/* The time of the source's next event; false at its end. */
static bool look(const struct mt_books *b, struct source *s)
{
    const struct mt_proc *p = s->kind == CALLS || s->kind == END ? &b->proc[s->of] : NULL;
    if (s->at >= s->n)
        return false;
    switch (s->kind) {
    case CALLS: {
        const struct mt_driver *d = b->driver->drivers.p[p->driver]->driver;
        s->time = d->calls.p[d->processes.p[p->process].first_call + s->at].time_ns;
        break;
    }
    case WHOLE: s->time = b->driver->ledgers.p[s->of].whole_ns; break;
    case SAMPLES: s->time = b->driver->drivers.p[s->of]->driver->samples.p[s->at].time_ns; break;
    case PROBES: s->time = b->probes.p[s->at].at_ns; break;
    case END: s->time = p->end_ns; break;
    }
    return true;
}

/* What is held where the sums of a GPU become whole counts as if it came then. */
static void begin_whole(struct mt_books *b, uint32_t ledger)
{
    for (uint32_t i = 0; i < b->rows.n; i++) {
        struct mt_row *r = &b->rows.p[i];
        struct mt_proc *p = &b->proc[r->proc];
        if (r->ledger != ledger)
            continue;
        if (r->bytes > 0 && (uint64_t)r->bytes > r->peak)
            r->peak = (uint64_t)r->bytes;
        if (p->bytes > p->sum.peak) {
            p->sum.peak = p->bytes;
            p->sum.peak_ns = b->now;
        }
        if (p->pinned > p->sum.pinned_peak)
            p->sum.pinned_peak = p->pinned;
    }
    if (!b->second_pass && b->run[ledger].managed > b->driver->ledgers.p[ledger].managed_peak)
        b->driver->ledgers.p[ledger].managed_peak = b->run[ledger].managed;
    mt_ledger_grew(b, ledger);
}

static int step(struct mt_books *b, const struct source *s)
{
    switch (s->kind) {
    case CALLS: {
        const struct mt_proc *p = &b->proc[s->of];
        const struct mt_driver *d = b->driver->drivers.p[p->driver]->driver;
        uint32_t index = d->processes.p[p->process].first_call + s->at;
        const struct mt_call *c = &d->calls.p[index];
        if (!p->lossless && c->gpu < d->gpus.n && b->ledger_of[p->driver][c->gpu] != MT_NONE32)
            b->driver->ledgers.p[b->ledger_of[p->driver][c->gpu]].records_lost = true;
        /* of a recording with losses the last sample and what was recorded since say less */
        if (c->result != 0 && !p->lossless)
            mem_info(b, s->of, c);
        mt_books_apply(b, s->of, c, index);
        if (c->op == MT_WO_MEM_INFO && c->result == 0)
            mem_info(b, s->of, c);
        break;
    }
    case WHOLE: begin_whole(b, s->of); break;
    case SAMPLES: sample(b, s->of, &b->driver->drivers.p[s->of]->driver->samples.p[s->at]); break;
    case PROBES: return !b->second_pass || mt_reconcile_at(b, &b->probes.p[s->at]);
    case END: {
        struct mt_proc *p = &b->proc[s->of];
        p->sum.pinned_end = p->pinned;
        p->sum.pinned_grown = p->pinned > p->pin_before ? p->pinned - p->pin_before : 0;
        p->sum.pinned_phase = p->pin_phase;
        mt_books_end(b, s->of);
        break;
    }
    }
    return !b->nomem;
}

static void reset(struct mt_books *b)
{
    b->now = b->seq = 0;
    b->n_held = 0;
    if (b->held_cap != 0)
        memset(b->held, 0, b->held_cap * sizeof *b->held);
    for (uint32_t i = 0; i < b->rows.n; i++) {
        b->rows.p[i].bytes = 0;
        b->rows.p[i].n_live = 0;
    }
    for (uint32_t i = 0; i < b->driver->ledgers.n; i++) {
        memset(b->run[i].by, 0, sizeof b->run[i].by);
        b->run[i].named = b->run[i].managed = 0;
        b->run[i].has_sample = b->run[i].code_came = false;
        b->run[i].n_code = 0;
        b->run[i].code_grew = 0;
        b->run[i].lately.n = 0;
    }
    for (uint32_t i = 0; i < b->n_procs; i++) {
        b->proc[i].bytes = b->proc[i].pinned = b->proc[i].managed = b->proc[i].pin_before = 0;
        b->proc[i].pin_phase = MT_PH_UNATTRIBUTED;
        b->proc[i].open_oom = MT_NONE32;
        if (b->proc[i].sweep != NULL)
            mt_claim_sweep_rewind(b->proc[i].sweep);
    }
    b->next_phase = 0;
    b->open_phases.n = 0;
    b->phase_end = UINT64_MAX;
    b->high_since = 0;
    b->high_ledger = MT_NONE32;
}

static void put(struct source *heap, uint32_t *n, struct source s) { heap[(*n)++] = s; }

int mt_books_replay(struct mt_books *b)
{
    struct source *heap = mt_calloc(
        2 * (size_t)b->n_procs + b->driver->drivers.n + b->driver->ledgers.n + 1, sizeof *heap);
    /* a second pass adds nothing to them */
    struct mt_driver_process *sums = mt_calloc((size_t)b->n_procs + 1, sizeof *sums);
    uint32_t n = 0;
    int ok = heap != NULL && sums != NULL;
    if (!ok)
        goto out;
    reset(b);
    if (!b->second_pass)
        pools(b);
    for (uint32_t i = 0; i < b->n_procs; i++) {
        const struct mt_driver *d = b->driver->drivers.p[b->proc[i].driver]->driver;
        sums[i] = b->proc[i].sum;
        put(heap, &n,
            (struct source){
                .of = i, .n = d->processes.p[b->proc[i].process].n_calls, .kind = CALLS});
        if (b->proc[i].end_ns != UINT64_MAX)
            put(heap, &n, (struct source){.of = i, .n = 1, .kind = END});
    }
    for (uint32_t i = 0; i < b->driver->drivers.n; i++)
        put(heap, &n,
            (struct source){
                .of = i, .n = b->driver->drivers.p[i]->driver->samples.n, .kind = SAMPLES});
    for (uint32_t i = 0; i < b->driver->ledgers.n; i++)
        if (b->driver->ledgers.p[i].whole_ns != 0)
            put(heap, &n, (struct source){.of = i, .n = 1, .kind = WHOLE});
    put(heap, &n, (struct source){.n = b->probes.n, .kind = PROBES});
    for (uint32_t i = n; i-- > 0;) {
        if (!look(b, &heap[i]))
            heap[i] = heap[--n];
    }
    for (uint32_t i = n / 2; i-- > 0;)
        sift(heap, n, i);
    while (ok && n != 0) {
        if (heap[0].time > b->now)
            b->now = heap[0].time;
        b->seq++;
        mt_driver_phases_advance(b, b->now);
        ok = step(b, &heap[0]) && !b->nomem;
        for (uint32_t i = 0; ok && b->second_pass && i < b->driver->ledgers.n; i++)
            if (b->driver->ledgers.p[i].focus_seq == b->seq)
                ok = mt_ledger_capture(b, i);
        heap[0].at++;
        if (!look(b, &heap[0]))
            heap[0] = heap[--n];
        sift(heap, n, 0);
    }
    mt_driver_phases_advance(b, UINT64_MAX);
    if (b->second_pass)
        for (uint32_t i = 0; i < b->n_procs; i++)
            b->proc[i].sum = sums[i];
    b->now = UINT64_MAX;
    for (uint32_t i = 0; i < b->driver->ledgers.n; i++)
        mt_ledger_touch(b, i);
out:
    mt_free(heap);
    mt_free(sums);
    return ok;
}
