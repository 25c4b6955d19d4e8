/* native/sort.c -- everything into the order that driver.h promises, and process and GPU numbers
 * with it.
 *
 * Records come nearly in order: threads of a process write theirs microseconds apart, and processes
 * in long runs. So a stable merge sort over small keys skips runs that are in order, and then each
 * element is moved once. */
#include "parser/native/impl.h"

#include <stdlib.h>
#include <string.h>

struct key {
    uint32_t major, at; /* at: index of the element */
    uint64_t minor;
};

enum { RUN = 16, MAX_ELEMENT = 256 };

static bool before(const struct key *a, const struct key *b)
{
    return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}

static void insertion(struct key *k, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct key x = k[i];
        uint32_t j = i;
        for (; j > 0 && before(&x, &k[j - 1]); j--)
            k[j] = k[j - 1];
        k[j] = x;
    }
}

static void merge(struct key *k, struct key *tmp, uint32_t n_left, uint32_t n)
{
    uint32_t i = 0, j = n_left, at = 0;
    if (!before(&k[n_left], &k[n_left - 1]))
        return;
    memcpy(tmp, k, n_left * sizeof *k);
    while (i < n_left && j < n)
        k[at++] = before(&k[j], &tmp[i]) ? k[j++] : tmp[i++];
    memcpy(k + at, tmp + i, (n_left - i) * sizeof *k);
}

/* The elements as the keys say: key[i].at goes to place i. */
static void move(unsigned char *base, size_t size, struct key *k, uint32_t n)
{
    unsigned char x[MAX_ELEMENT];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        if (k[i].at == i)
            continue;
        memcpy(x, base + i * size, size);
        while (k[at].at != i) {
            uint32_t from = k[at].at;
            memcpy(base + at * size, base + from * size, size);
            k[at].at = at;
            at = from;
        }
        memcpy(base + at * size, x, size);
        k[at].at = at;
    }
}

static int sort_keys(struct mt_native *n, void *base, size_t size, struct key *k, uint32_t count)
{
    struct key *tmp = mt_malloc_big((count / 2 + (size_t)RUN) * 2 * sizeof *tmp);
    if (tmp == NULL)
        return mt_native_nomem(n);
    for (uint64_t i = 0; i < count; i += RUN)
        insertion(k + i, count - i < RUN ? (uint32_t)(count - i) : RUN);
    for (uint64_t w = RUN; w < count; w *= 2)
        for (uint64_t i = 0; i + w < count; i += 2 * w)
            merge(k + i, tmp, (uint32_t)w,
                  count - i < 2 * w ? (uint32_t)(count - i) : (uint32_t)(2 * w));
    mt_free(tmp);
    move(base, size, k, count);
    return 1;
}

/* Sorts v by (major, minor), stable; e is the element. A list that is in order costs one pass. */
#define SORT(v, major_of, minor_of)                                                                \
    do {                                                                                           \
        struct key last_ = {0, 0, 0}, *keys_;                                                      \
        bool sorted_ = true;                                                                       \
        int ok_;                                                                                   \
        _Static_assert(sizeof *(v)->p <= MAX_ELEMENT, "it has to fit");                            \
        for (uint32_t i_ = 0; i_ < (v)->n && sorted_; i_++) {                                      \
            struct key this_;                                                                      \
            e = (void *)&(v)->p[i_];                                                               \
            this_ = (struct key){(major_of), i_, (minor_of)};                                      \
            sorted_ = !before(&this_, &last_);                                                     \
            last_ = this_;                                                                         \
        }                                                                                          \
        if (sorted_)                                                                               \
            break;                                                                                 \
        keys_ = mt_malloc_big((v)->n * sizeof *keys_);                                             \
        if (keys_ == NULL)                                                                         \
            return mt_native_nomem(n);                                                             \
        for (uint32_t i_ = 0; i_ < (v)->n; i_++) {                                                 \
            e = (void *)&(v)->p[i_];                                                               \
            keys_[i_] = (struct key){(major_of), i_, (minor_of)};                                  \
        }                                                                                          \
        ok_ = sort_keys(n, (v)->p, sizeof *(v)->p, keys_, (v)->n);                                 \
        mt_free(keys_);                                                                            \
        if (!ok_)                                                                                  \
            return 0;                                                                              \
    } while (0)

/* One number per element, by rank in the order of cmp: place[old] = new. NULL when out of memory.
 */
struct ref {
    const struct mt_trace *t;
    const void *p;
    uint32_t old;
};

static int cmp_str(const struct mt_trace *t, mt_str_id a, mt_str_id b)
{
    uint32_t na = mt_str_len(t, a), nb = mt_str_len(t, b);
    int c = a == b ? 0 : memcmp(mt_str(t, a), mt_str(t, b), na < nb ? na : nb);
    return c != 0 ? c : na < nb ? -1 : na > nb;
}

static int cmp_process(const void *pa, const void *pb)
{
    const struct ref *ra = pa, *rb = pb;
    const struct mt_process *a = ra->p, *b = rb->p;
    int c = cmp_str(ra->t, a->host, b->host);
    if (c != 0)
        return c;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->uid < b->uid ? -1 : a->uid > b->uid;
}

static int cmp_gpu(const void *pa, const void *pb)
{
    const struct ref *ra = pa, *rb = pb;
    const struct mt_gpu *a = ra->p, *b = rb->p;
    int c = cmp_str(ra->t, a->host, b->host);
    c = c != 0 ? c : cmp_str(ra->t, a->pci, b->pci);
    c = c != 0 ? c : cmp_str(ra->t, a->uuid, b->uuid);
    return c != 0 ? c : ra->old < rb->old ? -1 : ra->old > rb->old;
}

static uint32_t *places(const struct mt_trace *t, void *base, size_t size, uint32_t count,
                        int (*cmp)(const void *, const void *))
{
    uint32_t *place = mt_malloc((count + (size_t)1) * sizeof *place);
    struct ref *r = mt_malloc((count + (size_t)1) * sizeof *r);
    struct key *k = mt_malloc((count + (size_t)1) * sizeof *k);
    if (place != NULL && r != NULL && k != NULL) {
        for (uint32_t i = 0; i < count; i++)
            r[i] = (struct ref){t, (unsigned char *)base + i * size, i};
        if (count > 1)
            qsort(r, count, sizeof *r, cmp);
        for (uint32_t i = 0; i < count; i++) {
            place[r[i].old] = i;
            k[i] = (struct key){0, r[i].old, 0};
        }
        move(base, size, k, count);
    } else {
        mt_free(place);
        place = NULL;
    }
    mt_free(r);
    mt_free(k);
    return place;
}

static void renumber(struct mt_driver *d, const uint32_t *process, const uint32_t *gpu)
{
#define EACH(v) for (uint32_t i = 0; i < d->v.n; i++)
#define GPU(x) ((x) = (x) != MT_NONE32 ? gpu[x] : MT_NONE32)
    EACH(attrs) d->attrs.p[i].process = process[d->attrs.p[i].process];
    EACH(modules) d->modules.p[i].process = process[d->modules.p[i].process];
    EACH(threads) d->threads.p[i].process = process[d->threads.p[i].process];
    EACH(host_samples)
    d->host_samples.p[i].process = process[d->host_samples.p[i].process];
    EACH(ranges) d->ranges.p[i].process = process[d->ranges.p[i].process];
    EACH(losses) d->losses.p[i].process = process[d->losses.p[i].process];
    EACH(statuses)
    {
        if (d->statuses.p[i].process != MT_NONE32)
            d->statuses.p[i].process = process[d->statuses.p[i].process];
    }
    EACH(views)
    {
        d->views.p[i].process = process[d->views.p[i].process];
        GPU(d->views.p[i].gpu);
    }
    EACH(activities)
    {
        d->activities.p[i].process = process[d->activities.p[i].process];
        GPU(d->activities.p[i].gpu);
    }
    EACH(samples)
    {
        d->samples.p[i].process = process[d->samples.p[i].process];
        GPU(d->samples.p[i].gpu);
    }
    EACH(calls)
    {
        d->calls.p[i].process = process[d->calls.p[i].process];
        GPU(d->calls.p[i].gpu);
    }
#undef GPU
#undef EACH
}

static bool is_identity(const uint32_t *place, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (place[i] != i)
            return false;
    return true;
}

static int number(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    uint32_t *process =
        places(n->t, d->processes.p, sizeof *d->processes.p, d->processes.n, cmp_process);
    uint32_t *gpu = places(n->t, d->gpus.p, sizeof *d->gpus.p, d->gpus.n, cmp_gpu);
    int ok = process != NULL && gpu != NULL;
    if (ok && !(is_identity(process, d->processes.n) && is_identity(gpu, d->gpus.n))) {
        renumber(d, process, gpu);
        n->unsorted = true; /* for all that is known */
    }
    mt_free(process);
    mt_free(gpu);
    return ok || mt_native_nomem(n);
}

static int sort_small(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    {
        const struct mt_process_attr *e;
        SORT(&d->attrs, e->process, 0);
    }
    {
        const struct mt_module *e;
        SORT(&d->modules, e->process, e->base);
    }
    {
        const struct mt_thread *e;
        SORT(&d->threads, e->process, e->tid);
    }
    {
        const struct mt_gpu_view *e;
        SORT(&d->views, e->process, e->index);
    }
    {
        const struct mt_loss *e;
        SORT(&d->losses, e->process, e->what);
    }
    {
        const struct mt_status *e;
        SORT(&d->statuses, 0, e->time_ns);
    }
    return 1;
}

static int sort_samples(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    {
        const struct mt_gpu_sample *e;
        SORT(&d->samples, 0, (uint64_t)e->process << 32 | e->gpu);
        SORT(&d->samples, 0, e->time_ns);
    }
    {
        const struct mt_host_sample *e;
        SORT(&d->host_samples, e->process, 0);
        SORT(&d->host_samples, 0, e->time_ns);
    }
    {
        const struct mt_nvtx *e;
        SORT(&d->ranges, e->process, e->tid);
        SORT(&d->ranges, 0, e->t0_ns);
    }
    return 1;
}

static int sort_calls(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    uint32_t at = 0;
    if (n->unsorted) {
        const struct mt_call *e;
        SORT(&d->calls, e->process, e->time_ns);
    }
    if (n->unsorted) {
        const struct mt_activity *e;
        SORT(&d->activities, e->process, e->time_ns);
    }
    for (uint32_t i = 0; i < d->processes.n; i++) {
        d->processes.p[i].first_call = at;
        at += d->processes.p[i].n_calls;
    }
    at = 0;
    for (uint32_t i = 0; i < d->processes.n; i++) {
        d->processes.p[i].first_attr = at;
        at += d->processes.p[i].n_attrs;
    }
    return 1;
}

int mt_native_sort(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    void *p;
    if (!number(n) || !sort_small(n) || !sort_samples(n) || !sort_calls(n))
        return 0;
    if (d->calls.n < d->calls.cap && d->calls.n != 0 &&
        (p = mt_realloc(d->calls.p, d->calls.n * sizeof *d->calls.p)) !=
            NULL) { /* gives the unused capacity back */
        d->calls.p = p;
        d->calls.cap = d->calls.n;
    }
    return 1;
}
