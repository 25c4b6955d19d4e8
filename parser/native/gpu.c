/* native/gpu.c -- which GPU a record means. Each process has its own numbers for them; the UUID
 * tells them apart. */
#include "parser/native/impl.h"

#include <stdlib.h>
#include <string.h>

static int cmp32(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int by_index(const void *pa, const void *pb)
{
    const struct mt_native_view *a = pa, *b = pb;
    int c = cmp32(a->process, b->process);
    c = c != 0 ? c : cmp32(a->index, b->index);
    return c != 0 ? c : cmp32(a->order, b->order);
}

static int by_handle(const void *pa, const void *pb)
{
    const struct mt_native_context *a = pa, *b = pb;
    int c = cmp32(a->process, b->process);
    if (c == 0 && a->handle != b->handle)
        c = a->handle < b->handle ? -1 : 1;
    /* a handle may be given out again: the last one */
    return c != 0 ? c : cmp32(b->order, a->order);
}

/* One view per (process, index): later records add to earlier ones. */
static void merge(struct mt_native *n)
{
    struct mt_native_view *v = n->views.p;
    uint32_t k = 0;
    if (n->views.n == 0)
        return;
    qsort(v, n->views.n, sizeof *v, by_index);
    for (uint32_t i = 1; i < n->views.n; i++) {
        if (v[i].process != v[k].process || v[i].index != v[k].index) {
            v[++k] = v[i];
            continue;
        }
        v[k].ordinal = v[i].ordinal >= 0 ? v[i].ordinal : v[k].ordinal;
        v[k].total = v[i].total != 0 ? v[i].total : v[k].total;
        v[k].uuid = v[i].uuid != 0 ? v[i].uuid : v[k].uuid;
        v[k].pci = v[i].pci != 0 ? v[i].pci : v[k].pci;
        v[k].name = v[i].name != 0 ? v[i].name : v[k].name;
    }
    n->views.n = k + 1;
}

static int add_view(struct mt_native *n, uint32_t process, uint32_t index, int32_t ordinal)
{
    struct mt_native_view *v = MT_VEC_PUSH(&n->views);
    if (v == NULL)
        return mt_native_nomem(n);
    v->process = process;
    v->index = index;
    v->ordinal = ordinal;
    n->n_undefined++;
    return 1;
}

/* Devices that calls or samples mention, but whose own record was lost. */
static int add_lost(struct mt_native *n)
{
    uint32_t n_told = n->views.n, at = 0;
    for (uint32_t p = 0; p < n->procs.n; p++) {
        struct mt_native_process *q = &n->procs.p[p];
        for (; at < n_told && n->views.p[at].process == p; at++) {
            const struct mt_native_view *v = &n->views.p[at];
            q->indexes[v->index / 64] &= ~(UINT64_C(1) << v->index % 64);
            if (v->ordinal >= 0 && v->ordinal < MT_MAX_GPUS)
                q->ordinals[v->ordinal / 64] &= ~(UINT64_C(1) << v->ordinal % 64);
        }
        for (uint32_t i = 0; i < MT_MAX_GPUS; i++) {
            if (q->indexes[i / 64] >> i % 64 & 1 && !add_view(n, p, i, -1))
                return 0;
            if (q->ordinals[i / 64] >> i % 64 & 1 && !add_view(n, p, MT_NONE32, (int32_t)i))
                return 0;
        }
    }
    if (n->views.n != n_told)
        qsort(n->views.p, n->views.n, sizeof *n->views.p, by_index);
    return 1;
}

/* Order of views by identity: UUID, else PCI id. With neither every process has a GPU of its own.
 */
static int by_gpu(const void *pa, const void *pb)
{
    const struct mt_native_view *a = *(struct mt_native_view *const *)pa,
                                *b = *(struct mt_native_view *const *)pb;
    int c = cmp32(a->uuid == 0, b->uuid == 0);
    c = c != 0 ? c : cmp32(a->host, b->host);
    c = c != 0 ? c : cmp32(a->uuid, b->uuid);
    c = c != 0 ? c : cmp32(a->pci, b->pci);
    c = c != 0 ? c : cmp32(a->process, b->process);
    return c != 0 ? c : cmp32(a->index, b->index);
}

/* A GPU with a UUID at the same place; without one only the last made can be it, as the views come
 * sorted. */
static uint32_t at_pci(const struct mt_native *n, const struct mt_native_view *v,
                       uint32_t n_with_uuid)
{
    uint32_t last = n->d->gpus.n - 1;
    if (v->pci == 0)
        return MT_NONE32;
    for (uint32_t i = 0; i < n_with_uuid && i < 4096; i++)
        if (n->d->gpus.p[i].host == v->host && n->d->gpus.p[i].pci == v->pci)
            return i;
    if (n->d->gpus.n > n_with_uuid && n->d->gpus.p[last].host == v->host &&
        n->d->gpus.p[last].pci == v->pci)
        return last;
    return MT_NONE32;
}

static int group(struct mt_native *n)
{
    struct mt_native_view **v = mt_malloc((n->views.n + (size_t)1) * sizeof *v);
    uint32_t n_with_uuid = 0;
    if (v == NULL)
        return mt_native_nomem(n);
    for (uint32_t i = 0; i < n->views.n; i++) {
        v[i] = &n->views.p[i];
        v[i]->host = n->d->processes.p[v[i]->process].host;
    }
    if (n->views.n > 1)
        qsort(v, n->views.n, sizeof *v, by_gpu);
    for (uint32_t i = 0; i < n->views.n; i++) {
        uint32_t g = MT_NONE32;
        struct mt_gpu *gpu;
        if (v[i]->uuid == 0)
            g = at_pci(n, v[i], n_with_uuid);
        else if (i > 0 && v[i]->uuid == v[i - 1]->uuid && v[i]->host == v[i - 1]->host)
            g = v[i - 1]->gpu;
        if (g == MT_NONE32) {
            if (MT_VEC_PUSH(&n->d->gpus) == NULL) {
                mt_free(v);
                return mt_native_nomem(n);
            }
            g = n->d->gpus.n - 1;
            n->d->gpus.p[g].host = v[i]->host;
            n_with_uuid += v[i]->uuid != 0;
        }
        v[i]->gpu = g;
        gpu = &n->d->gpus.p[g];
        gpu->uuid = gpu->uuid != 0 ? gpu->uuid : v[i]->uuid;
        gpu->pci = gpu->pci != 0 ? gpu->pci : v[i]->pci;
        gpu->name = gpu->name != 0 ? gpu->name : v[i]->name;
        gpu->total = gpu->total > v[i]->total ? gpu->total : v[i]->total;
    }
    mt_free(v);
    return 1;
}

uint32_t mt_native_gpu_of(const struct mt_native *n, uint32_t process, bool by_ordinal,
                          uint32_t which)
{
    uint32_t lo = 0, hi = n->views.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (n->views.p[mid].process < process)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n->views.n && n->views.p[lo].process == process; lo++)
        if (by_ordinal ? n->views.p[lo].ordinal == (int32_t)which : n->views.p[lo].index == which)
            return n->views.p[lo].gpu;
    return MT_NONE32;
}

uint32_t mt_native_gpu_of_context(const struct mt_native *n, uint32_t process, uint64_t handle)
{
    uint32_t lo = 0, hi = n->contexts.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct mt_native_context *c = &n->contexts.p[mid];
        if (c->process < process || (c->process == process && c->handle < handle))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == n->contexts.n || n->contexts.p[lo].process != process ||
        n->contexts.p[lo].handle != handle)
        return MT_NONE32;
    return mt_native_gpu_of(n, process, false, n->contexts.p[lo].index);
}

int mt_native_gpus(struct mt_native *n)
{
    merge(n);
    if (!add_lost(n) || !group(n))
        return 0;
    if (n->contexts.n > 1)
        qsort(n->contexts.p, n->contexts.n, sizeof *n->contexts.p, by_handle);
    for (uint32_t i = 0; i < n->views.n; i++) {
        struct mt_gpu_view *v = MT_VEC_PUSH(&n->d->views);
        if (v == NULL)
            return mt_native_nomem(n);
        *v = (struct mt_gpu_view){n->views.p[i].process, n->views.p[i].gpu, n->views.p[i].index,
                                  n->views.p[i].ordinal};
    }
    return 1;
}
