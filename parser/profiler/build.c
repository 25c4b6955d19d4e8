/* profiler/build.c -- from what was read to a sealed trace. */
#include "parser/profiler/impl.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const struct mt_pf_mem *m)
{
    return m->bytes < 0 ? 0 - (uint64_t)m->bytes : (uint64_t)m->bytes;
}

static void say_totals(struct mt_pf *f, const struct mt_pf_totals *k, const struct mt_pf_feed *d,
                       int device)
{
    if (!k->known)
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      "the recording does not say what was allocated in all (\"Total Allocated\", "
                      "PyTorch 1.12 or newer): the curve is that of what happened while profiling, "
                      "and %llu bytes must have been there before; how much more is not known, nor "
                      "what was reserved",
                      (unsigned long long)(0 - (uint64_t)d->low));
    mt_pf_totals_say(f->t, k, device, "threads that the profiler does not follow");
}

struct device {
    struct mt_pf_feed feed;
    struct mt_pf_totals totals;
    bool used;
};

static int one_event(struct mt_pf *f, struct device *d, const struct mt_pf_mem *m,
                     mt_stack_id stack)
{
    const uint64_t *addr = (mt_pf_flags_of(m) & MT_PF_ADDR) != 0 ? &m->addr : NULL;
    int64_t ts = m->ts + f->base_ns;
    int ok = 1;
    if (!d->used)
        mt_pf_feed_init(&d->feed, f->b);
    d->used = true;
    if ((mt_pf_flags_of(m) & MT_PF_TOTALS) != 0)
        ok = mt_pf_totals_note(&d->totals, &d->feed,
                               (mt_pf_flags_of(m) & MT_PF_OOM) != 0 ? 0 : m->bytes, m->allocated,
                               m->reserved, ts, stack);
    if (ok && (mt_pf_flags_of(m) & MT_PF_OOM) != 0)
        ok = mt_pf_refused_request(&d->feed, ts, bytes_of(m), stack);
    else if (ok)
        ok = m->bytes > 0 ? mt_pf_alloc(&d->feed, ts, addr, bytes_of(m), 0, stack)
                          : mt_pf_free(&d->feed, ts, addr, bytes_of(m), 0, stack);
    return ok || (d->feed.nomem ? mt_pf_nomem(f) : mt_pf_refused(f));
}

static uint64_t memory_of(const struct mt_pf *f, int device)
{
    for (uint32_t i = 0; i < f->props.n; i++)
        if (f->props.p[i].id == device)
            return f->props.p[i].memory;
    return 0;
}

static int on_device(struct mt_pf *f, int id)
{
    return mt_build_trace_begin(f->b, id < 0 ? 0 : (uint32_t)id,
                                id < 0 ? MT_DEV_CPU : MT_DEV_CUDA) ||
           mt_pf_refused(f);
}

/* Every event in the order of time, with its stack, to its device. */
static int play(struct mt_pf *f, struct device *all)
{
    struct mt_pf_walk *w = mt_pf_walk_new(f);
    struct mt_pf_mem m;
    int at = INT16_MIN, rc = w != NULL && mt_pf_mem_begin(f);
    while (rc && mt_pf_mem_next(f, &m)) {
        mt_stack_id stack = 0;
        int device = mt_pf_device_of(&m);
        if (device < 0 && f->has_device)
            continue;
        rc = (device == at || on_device(f, device)) &&
             mt_pf_stack_at(w, mt_pf_thread_of(&m), m.ts, &stack) &&
             one_event(f, &all[device + 1], &m, stack);
        at = device;
    }
    mt_pf_walk_free(w);
    return rc;
}

static void finish_device(struct mt_pf *f, int id, const struct device *d)
{
    const struct mt_pf_totals *k = &d->totals;
    uint64_t start = mt_pf_totals_start(k, &d->feed);
    mt_build_totals(f->b, id < 0 ? MT_DEV_CPU : MT_DEV_CUDA, id < 0 ? 0 : id,
                    start + (uint64_t)d->feed.live, k->end_reserved, memory_of(f, id));
    say_totals(f, k, &d->feed, id);
}

/* ---- annotations ---- */

static int by_begin(const void *pa, const void *pb)
{
    const struct mt_pf_range *a = pa, *b = pb;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int mark(struct mt_pf *f, mt_str_id name, mt_str_id stage, int64_t ts, int dev)
{
    struct mt_rec r;
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_NAME, (struct mt_val){.type = MT_T_STR, .id = name});
    mt_rec_set(&r, MT_K_STAGE, (struct mt_val){.type = MT_T_STR, .id = stage});
    mt_rec_set(&r, MT_K_TIME_US, (struct mt_val){.type = MT_T_INT, .i = ts / 1000});
    mt_rec_set(&r, MT_K_DEVICE, (struct mt_val){.type = MT_T_INT, .i = dev});
    return mt_build_annotation(f->b, &r) || mt_pf_refused(f);
}

static int annotations(struct mt_pf *f, int dev)
{
    mt_str_id start, end;
    if (!mt_build_str(f->b, "START", 5, &start) || !mt_build_str(f->b, "END", 3, &end))
        return mt_pf_refused(f);
    for (uint32_t i = 0; i < f->ranges.n; i++) {
        const struct mt_pf_range *r = &f->ranges.p[i];
        if (r->ts + f->base_ns > 0 && (!mark(f, r->name, start, r->ts + f->base_ns, dev) ||
                                       !mark(f, r->name, end, r->end + f->base_ns, dev)))
            return 0;
    }
    return 1;
}

/* ---- all ---- */

static void say_limits(struct mt_pf *f, bool cpu_too)
{
    mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                  "a recording of torch.profiler knows what was allocated and freed while it ran, "
                  "in the allocator's rounded sizes; it knows no segments, so nothing of "
                  "fragmentation, streams and pools, and a block that waits for other streams "
                  "counts as free");
    if (!f->has_python)
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      f->outer.n != 0 ? "the Python frames are those that operators name; "
                                        "allocations outside of operators have none"
                                      : "no Python frames were recorded: with_stack=True of "
                                        "torch.profiler.profile records them");
    if (cpu_too)
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      "%llu events of the CPU's memory were left out: the report is about devices",
                      (unsigned long long)f->n_cpu);
    if (!f->has_base && f->t->devices.n != 0 && f->t->devices.p[0].events.n != 0 &&
        mt_event_ns(&f->t->devices.p[0], 0) < UINT64_C(1000000000000000000))
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      "its times count from a moment that it does not name "
                      "(\"baseTimeNanoseconds\"), which is shown as the begin of 1970");
    if (f->n_bad != 0)
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      "%llu events could not be understood and were left out",
                      (unsigned long long)f->n_bad);
    if (f->n_other_process != 0)
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      "%llu memory events of other processes than %lld were left out: give each "
                      "process a file of its own",
                      (unsigned long long)f->n_other_process, (long long)f->pid);
    if (f->n_lost_threads != 0)
        mt_trace_diag(f->t, MT_DIAG_NOTE, false, 0,
                      "%llu events of more than 4096 threads have no stack",
                      (unsigned long long)f->n_lost_threads);
}

int mt_pf_build(struct mt_pf *f)
{
    enum { DEVICES = 1025 }; /* and the CPU before them */
    struct device *all = mt_calloc(DEVICES, sizeof *all);
    int rc;
    if (all == NULL)
        return mt_pf_nomem(f);
    if (f->ranges.n > 1)
        qsort(f->ranges.p, f->ranges.n, sizeof *f->ranges.p, by_begin);
    rc = play(f, all);
    for (int id = -1; rc && id < DEVICES - 1; id++)
        if (all[id + 1].used) {
            finish_device(f, id, &all[id + 1]);
            rc = annotations(f, id < 0 ? 0 : id);
        }
    for (int i = 0; i < DEVICES; i++)
        mt_pf_feed_done(&all[i].feed);
    mt_free(all);
    if (!rc)
        return 0;
    say_limits(f, f->has_device && f->n_cpu != 0);
    return mt_build_finish(f->b) || mt_pf_refused(f);
}
