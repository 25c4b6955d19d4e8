/* The processes of all traces, each once; the GPUs that they share; the snapshots that belong to
 * them. */
#include "analysis/ledger/impl.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- who is who ---- */

static bool known_before(const struct mt_driverdiag *j, uint32_t driver, uint64_t uid)
{
    for (uint32_t i = 0; uid != 0 && i < driver; i++) {
        const struct mt_driver *d = j->drivers.p[i]->driver;
        for (uint32_t k = 0; k < d->processes.n; k++)
            if (d->processes.p[k].uid == uid)
                return true;
    }
    return false;
}

static const char *host_of(const struct mt_books *b, uint32_t proc)
{
    const struct mt_trace *t = b->driver->drivers.p[b->proc[proc].driver];
    return mt_str(t, t->driver->processes.p[b->proc[proc].process].host);
}

static int find_processes(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    size_t most = 0;
    for (uint32_t i = 0; i < j->drivers.n; i++)
        most += j->drivers.p[i]->driver->processes.n;
    b->proc = mt_calloc(most + 1, sizeof *b->proc);
    b->proc_of = mt_calloc((size_t)j->drivers.n + 1, sizeof *b->proc_of);
    if (b->proc == NULL || b->proc_of == NULL)
        return 0;
    for (uint32_t i = 0; i < j->drivers.n; i++) {
        const struct mt_driver *d = j->drivers.p[i]->driver;
        b->proc_of[i] = mt_malloc(((size_t)d->processes.n + 1) * sizeof **b->proc_of);
        if (b->proc_of[i] == NULL)
            return 0;
        for (uint32_t k = 0; k < d->processes.n; k++) {
            const struct mt_process *q = &d->processes.p[k];
            struct mt_proc *p = &b->proc[b->n_procs];
            b->proc_of[i][k] = MT_NONE32;
            if (known_before(j, i, q->uid))
                continue;
            b->proc_of[i][k] = b->n_procs++;
            p->driver = i;
            p->process = k;
            p->end_ns = q->end == MT_END_RUNNING || q->last_ns == 0 ? UINT64_MAX : q->last_ns;
            p->lossless = q->n_missing == 0 && q->n_dropped == 0;
            p->whole_ns = q->whole_ns;
            p->open_oom = MT_NONE32;
            p->sum = (struct mt_driver_process){.driver = i, .process = k, .ledger = MT_NONE32};
            for (p->host = 0; p->host + 1 < b->n_procs; p->host++)
                if (b->proc[p->host].host == p->host &&
                    strcmp(host_of(b, p->host), host_of(b, b->n_procs - 1)) == 0)
                    break;
        }
    }
    return 1;
}

static int by_value(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

static int index_pids(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->n_procs; i++) {
        const struct mt_driver *d = b->driver->drivers.p[b->proc[i].driver]->driver;
        uint64_t *v = MT_VEC_PUSH(&b->by_pid);
        if (v == NULL)
            return 0;
        *v = (uint64_t)d->processes.p[b->proc[i].process].pid << 32 | i;
    }
    if (b->by_pid.n > 1)
        qsort(b->by_pid.p, b->by_pid.n, sizeof *b->by_pid.p, by_value);
    return 1;
}

uint32_t mt_proc_listed(const struct mt_books *b, uint32_t host, uint32_t pid, uint64_t t)
{
    uint32_t lo = 0, hi = b->by_pid.n, found = MT_NONE32;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->by_pid.p[mid] >> 32 < pid)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < b->by_pid.n && b->by_pid.p[lo] >> 32 == pid; lo++) {
        const struct mt_proc *p = &b->proc[(uint32_t)b->by_pid.p[lo]];
        const struct mt_process *q =
            &b->driver->drivers.p[p->driver]->driver->processes.p[p->process];
        /* NVML lists a process a little before its first record and after its last */
        if (p->host == host && t + 5 * MT_SECOND >= q->first_ns &&
            (p->end_ns == UINT64_MAX || t <= q->last_ns + 5 * MT_SECOND))
            found = (uint32_t)b->by_pid.p[lo];
    }
    return found;
}

/* The last record of a process is of the beginning of its exit: the driver gives its memory back
 * after that. Of two processes on an H100 the second still saw all 1.33 GiB of the first 150 ms
 * after it. So a process holds what it held as long as a sample of another one lists it. */
static void stay_while_listed(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->driver->drivers.n; i++) {
        const struct mt_driver *d = b->driver->drivers.p[i]->driver;
        for (uint32_t k = 0; k < d->samples.n; k++) {
            const struct mt_gpu_sample *s = &d->samples.p[k];
            uint32_t by = s->process < d->processes.n ? b->proc_of[i][s->process] : MT_NONE32;
            for (uint32_t n = 0; by != MT_NONE32 && n < s->n_uses && s->first_use + n < d->uses.n;
                 n++) {
                const struct mt_gpu_use *u = &d->uses.p[s->first_use + n];
                uint32_t it = mt_proc_listed(b, b->proc[by].host, u->pid, s->time_ns);
                if (it != MT_NONE32 && u->used != 0 && b->proc[it].end_ns < s->time_ns)
                    b->proc[it].end_ns = s->time_ns;
            }
        }
    }
}

/* ---- GPUs ---- */

static bool same_gpu(const struct mt_driverdiag *j, const struct mt_ledger *l, uint32_t driver,
                     uint32_t gpu)
{
    const struct mt_trace *ta = j->drivers.p[l->driver], *tb = j->drivers.p[driver];
    const struct mt_gpu *a, *g = &tb->driver->gpus.p[gpu];
    if (l->gpu >= ta->driver->gpus.n)
        return false;
    a = &ta->driver->gpus.p[l->gpu];
    if (strcmp(mt_str(ta, a->host), mt_str(tb, g->host)) != 0)
        return false;
    if (g->uuid != 0 && a->uuid != 0)
        return strcmp(mt_str(ta, a->uuid), mt_str(tb, g->uuid)) == 0;
    return g->pci != 0 && a->pci != 0 && strcmp(mt_str(ta, a->pci), mt_str(tb, g->pci)) == 0;
}

/* The number that the driver gives it, when all processes agree and no other
 * GPU of the host has it; else its place in PCI order. */
static uint32_t number_of(const struct mt_trace *t, uint32_t gpu)
{
    const struct mt_driver *d = t->driver;
    const struct mt_gpu *g = &d->gpus.p[gpu];
    uint32_t index = MT_NONE32, place = 0;
    bool agreed = true;
    for (uint32_t i = 0; i < gpu; i++)
        place += d->gpus.p[i].host == g->host;
    for (uint32_t i = 0; i < d->views.n; i++) {
        const struct mt_gpu_view *v = &d->views.p[i];
        if (v->gpu == gpu && index == MT_NONE32)
            index = v->index;
        agreed &= v->gpu != gpu || v->index == index;
    }
    for (uint32_t i = 0; i < d->views.n; i++) {
        const struct mt_gpu_view *v = &d->views.p[i];
        if (v->gpu != gpu && v->gpu < d->gpus.n && d->gpus.p[v->gpu].host == g->host &&
            v->index == index)
            agreed = false;
    }
    return agreed && index != MT_NONE32 ? index : place;
}

char *mt_gpu_name(const struct mt_trace *t, uint32_t gpu, uint64_t capacity)
{
    char buf[512], size[32];
    const struct mt_gpu *g = gpu < t->driver->gpus.n ? &t->driver->gpus.p[gpu] : NULL;
    int n;
    if (g == NULL)
        n = snprintf(buf, sizeof buf, "a GPU that was not identified");
    else
        n = snprintf(buf, sizeof buf, "GPU %u%s%.100s", (unsigned)number_of(t, gpu),
                     g->host != 0 ? " of " : "", mt_str(t, g->host));
    if (n < 0)
        n = 0;
    if (g != NULL && (g->name != 0 || capacity != 0))
        n += snprintf(buf + n, sizeof buf - (size_t)n, " (%.100s%s%s)", mt_str(t, g->name),
                      g->name != 0 && capacity != 0 ? ", " : "",
                      capacity != 0 ? mt_words_bytes(size, capacity) : "");
    return mt_strndup(buf, (size_t)n < sizeof buf ? (size_t)n : sizeof buf - 1);
}

static int find_gpus(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    b->ledger_of = mt_calloc((size_t)j->drivers.n + 1, sizeof *b->ledger_of);
    if (b->ledger_of == NULL)
        return 0;
    for (uint32_t i = 0; i < j->drivers.n; i++) {
        const struct mt_driver *d = j->drivers.p[i]->driver;
        b->ledger_of[i] = mt_malloc(((size_t)d->gpus.n + 1) * sizeof **b->ledger_of);
        if (b->ledger_of[i] == NULL)
            return 0;
        for (uint32_t g = 0; g <= d->gpus.n; g++) { /* one more: calls whose GPU nobody knows */
            uint32_t at = 0;
            struct mt_ledger *l;
            while (at < j->ledgers.n && (g == d->gpus.n || !same_gpu(j, &j->ledgers.p[at], i, g)))
                at++;
            b->ledger_of[i][g] = at;
            if (at < j->ledgers.n)
                continue;
            l = MT_VEC_PUSH(&j->ledgers);
            if (l == NULL)
                return 0;
            l->driver = i;
            l->gpu = g < d->gpus.n ? g : MT_NONE32;
            l->capacity = g < d->gpus.n ? d->gpus.p[g].total : 0;
        }
    }
    b->run = mt_calloc((size_t)j->ledgers.n + 1, sizeof *b->run);
    if (b->run == NULL)
        return 0;
    for (uint32_t i = 0; i < b->n_procs; i++) {
        struct mt_proc *p = &b->proc[i];
        const struct mt_driver *d = j->drivers.p[p->driver]->driver;
        uint32_t n = 0;
        p->only_ledger = d->gpus.n == 1 ? b->ledger_of[p->driver][0] : MT_NONE32;
        for (uint32_t k = 0; k < d->views.n; k++) {
            const struct mt_gpu_view *v = &d->views.p[k];
            if (v->process != p->process || v->ordinal < 0 || v->gpu >= d->gpus.n)
                continue;
            p->only_ledger = n++ == 0 ? b->ledger_of[p->driver][v->gpu] : MT_NONE32;
        }
    }
    return 1;
}

/* ---- snapshots ---- */

static uint32_t ledger_of_ordinal(const struct mt_books *b, uint32_t proc, int32_t ordinal)
{
    const struct mt_proc *p = &b->proc[proc];
    const struct mt_driver *d = b->driver->drivers.p[p->driver]->driver;
    for (uint32_t k = 0; k < d->views.n; k++)
        if (d->views.p[k].process == p->process && d->views.p[k].ordinal == ordinal &&
            d->views.p[k].gpu < d->gpus.n)
            return b->ledger_of[p->driver][d->views.p[k].gpu];
    return p->only_ledger;
}

static int by_moment(const void *pa, const void *pb)
{
    const struct mt_probe *a = pa, *b = pb;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->claims != b->claims)
        return a->claims < b->claims ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static int probe(struct mt_books *b, uint32_t claims, uint32_t proc, int32_t ordinal)
{
    const struct mt_claims *c = &b->claims[claims];
    const struct mt_proc *p = &b->proc[proc];
    const struct mt_process *q = &b->driver->drivers.p[p->driver]->driver->processes.p[p->process];
    uint32_t ledger = ledger_of_ordinal(b, proc, ordinal);
    struct mt_probe *at;
    for (uint32_t i = 0; i < b->probes.n; i++)
        if (b->probes.p[i].claims == claims && b->probes.p[i].ordinal == ordinal &&
            !b->probes.p[i].is_peak)
            return 1;
    if (ledger == MT_NONE32)
        return 1;
    at = MT_VEC_PUSH(&b->probes);
    if (at == NULL)
        return 0;
    /* Where nobody noted when it was taken: at its last event; PyTorch's clock and ours differ by
     * less than a millisecond. */
    *at = (struct mt_probe){
        mt_claims_taken(c, b->driver->drivers.p[p->driver]), claims, proc, ledger, ordinal, false};
    if (at->at_ns == 0)
        at->at_ns = c->dump_ns != 0 ? c->dump_ns + 1000000 : q->last_ns;
    if (at->at_ns > p->end_ns)
        at->at_ns = p->end_ns;
    if (at->at_ns < p->whole_ns) /* what it held then is no longer there to compare with */
        b->probes.n--;
    return 1;
}

static int probe_peak(struct mt_books *b, uint32_t claims, uint32_t proc)
{
    const struct mt_claims *c = &b->claims[claims];
    uint32_t ledger = c->peak_ns != 0 ? ledger_of_ordinal(b, proc, c->peak_ordinal) : MT_NONE32;
    struct mt_probe *at;
    if (ledger == MT_NONE32 || c->peak_ns > b->proc[proc].end_ns ||
        c->peak_ns < b->proc[proc].whole_ns)
        return 1;
    at = MT_VEC_PUSH(&b->probes);
    if (at != NULL)
        *at = (struct mt_probe){c->peak_ns, claims, proc, ledger, c->peak_ordinal, true};
    return at != NULL;
}

static int match_snapshots(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->n_claims; i++) {
        const struct mt_claims *c = &b->claims[i];
        uint32_t proc = MT_NONE32;
        for (uint32_t d = 0; d < b->driver->drivers.n && proc == MT_NONE32; d++) {
            uint32_t process = mt_claims_process(c, b->driver->drivers.p[d]);
            if (process != MT_NONE32)
                proc = b->proc_of[d][process];
        }
        if (proc == MT_NONE32)
            continue;
        if (b->proc[proc].sweep == NULL)
            b->proc[proc].sweep = mt_calloc(1, sizeof *b->proc[proc].sweep);
        if (b->proc[proc].sweep == NULL || !mt_claim_sweep_add(b->proc[proc].sweep, c))
            return 0;
        for (uint32_t k = 0; k < c->list.n; k++)
            if (c->list.p[k].t1_ns == 0 && !probe(b, i, proc, c->list.p[k].ordinal))
                return 0;
        if (!probe_peak(b, i, proc))
            return 0;
    }
    if (b->probes.n > 1)
        qsort(b->probes.p, b->probes.n, sizeof *b->probes.p, by_moment);
    return 1;
}

int mt_world_make(struct mt_books *b)
{
    if (!find_processes(b) || !index_pids(b) || !find_gpus(b))
        return 0;
    stay_while_listed(b);
    return match_snapshots(b);
}
