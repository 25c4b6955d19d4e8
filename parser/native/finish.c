/* native/finish.c -- after the last chunk: raw ids become what they stand for, and what is missing
 * is said. */
#include "parser/base/text.h"
#include "parser/native/impl.h"

static mt_stack_id stack_of(struct mt_native *n, uint32_t process, uint32_t id)
{
    uint32_t s = mt_idmap_get(&n->ids, mt_id_key(MT_ID_STACK, process, id));
    if (s != MT_NONE32)
        return n->stacks.p[s].id;
    n->n_undefined++;
    return 0;
}

/* Calls of one process come in long runs with one device: the last answer is mostly the next. */
struct last_gpu {
    uint32_t process, ordinal, gpu;
    uint32_t context_process, context_gpu;
    uint64_t context;
};

static inline uint32_t gpu_of_ordinal(struct mt_native *n, struct last_gpu *l, uint32_t process,
                                      uint32_t ordinal)
{
    if (l->process != process || l->ordinal != ordinal) {
        l->process = process;
        l->ordinal = ordinal;
        l->gpu = mt_native_gpu_of(n, process, true, ordinal);
    }
    return l->gpu;
}

static inline uint32_t gpu_of_call(struct mt_native *n, struct last_gpu *l, const struct mt_call *k)
{
    if (k->gpu != MT_NONE32)
        return gpu_of_ordinal(n, l, k->process, k->gpu);
    if (k->context == 0)
        return MT_NONE32;
    if (l->context_process != k->process || l->context != k->context) {
        l->context_process = k->process;
        l->context = k->context;
        l->context_gpu = mt_native_gpu_of_context(n, k->process, k->context);
    }
    return l->context_gpu;
}

static void resolve(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    struct last_gpu last = {MT_NONE32, 0, 0, MT_NONE32, 0, 0};
    for (uint32_t i = 0; i < d->calls.n; i++) {
        struct mt_call *k = &d->calls.p[i];
        if (k->stack != 0)
            k->stack = stack_of(n, k->process, k->stack);
        if (k->rare != 0 && d->rare.p[k->rare - 1].name != 0)
            d->rare.p[k->rare - 1].name =
                mt_native_string(n, k->process, d->rare.p[k->rare - 1].name);
        k->gpu = gpu_of_call(n, &last, k);
        d->processes.p[k->process].n_calls++;
    }
    for (uint32_t i = 0; i < d->activities.n; i++) {
        struct mt_activity *a = &d->activities.p[i];
        a->name = mt_native_string(n, a->process, a->name);
        a->source = mt_native_string(n, a->process, a->source);
        a->gpu = a->gpu != MT_NONE32 ? gpu_of_ordinal(n, &last, a->process, a->gpu) : MT_NONE32;
    }
    for (uint32_t i = 0; i < d->samples.n; i++)
        d->samples.p[i].gpu =
            mt_native_gpu_of(n, d->samples.p[i].process, false, d->samples.p[i].gpu);
    for (uint32_t i = 0; i < d->processes.n; i++)
        d->processes.p[i].has_cuda = d->processes.p[i].n_calls != 0;
}

static void count_missing(struct mt_native *n)
{
    for (uint32_t i = 0; i < n->d->processes.n; i++) {
        struct mt_process *p = &n->d->processes.p[i];
        const struct mt_native_process *q = &n->procs.p[i];
        uint64_t there; /* with those that were let go */
        if (__builtin_add_overflow(q->n_seqs, q->first_seq, &there))
            there = UINT64_MAX;
        if (q->parts < q->parts_said || (q->parts != 0 && q->parts_said == 0)) {
            p->n_missing = q->parts_said > q->parts ? q->parts_said - q->parts : 1;
            mt_trace_diag(n->t, MT_DIAG_DAMAGE, false, 0,
                          "the checkpoint of process %u is not whole: what it held from before "
                          "can be missing in its sums",
                          p->pid);
        }
        if (q->n_seqs != 0 && q->max_seq >= there) {
            uint64_t lost = q->max_seq - there, all = q->max_seq - q->first_seq;
            lost += lost < UINT64_MAX; /* numbers are a file's: they may be anything */
            all += all < UINT64_MAX;
            if (__builtin_add_overflow(p->n_missing, lost, &p->n_missing))
                p->n_missing = UINT64_MAX;
            mt_trace_diag(n->t, MT_DIAG_DAMAGE, false, 0,
                          "%llu of %llu chunks of process %u are missing: what happened while they "
                          "were written is lost, sums of "
                          "that process can be off",
                          (unsigned long long)lost, (unsigned long long)all, p->pid);
        }
        if (__builtin_add_overflow(n->d->n_missing, p->n_missing, &n->d->n_missing))
            n->d->n_missing = UINT64_MAX;
    }
}

static void say_losses(struct mt_native *n)
{
    struct mt_trace *t = n->t;
    char name[120];
    for (uint32_t i = 0; i < n->d->attachments.n; i++) {
        const struct mt_attachment *a = &n->d->attachments.p[i];
        if (a->read >= a->bytes)
            continue;
        mt_printable(name, sizeof name, mt_str(t, a->name), mt_str_len(t, a->name));
        mt_trace_diag(t, MT_DIAG_DAMAGE, false, 0,
                      "%llu of %llu bytes of the attached file %s are missing",
                      (unsigned long long)(a->bytes - a->read), (unsigned long long)a->bytes, name);
    }
    if (n->n_lost_attachments != 0)
        mt_trace_diag(
            t, MT_DIAG_DAMAGE, false, 0,
            "more than %u attached files; of others, %llu part%s left out (raise --max-members)",
            n->lim->max_members, (unsigned long long)n->n_lost_attachments,
            mt_plural(n->n_lost_attachments, " was", "s were"));
    if (n->n_cut_chunks != 0)
        mt_trace_diag(t, MT_DIAG_DAMAGE, false, 0,
                      "%llu chunk%s something that is no record: the rest was left out",
                      (unsigned long long)n->n_cut_chunks,
                      mt_plural(n->n_cut_chunks, " holds", "s hold"));
    if (n->n_bad_records != 0)
        mt_trace_diag(t, MT_DIAG_DAMAGE, false, 0,
                      "%llu record%s cannot be decoded and %s left out",
                      (unsigned long long)n->n_bad_records, mt_plural(n->n_bad_records, "", "s"),
                      mt_plural(n->n_bad_records, "was", "were"));
    if (n->n_odd_chunks != 0)
        mt_trace_diag(t, MT_DIAG_DAMAGE, false, 0, "%llu chunk%s no process and %s left out",
                      (unsigned long long)n->n_odd_chunks,
                      mt_plural(n->n_odd_chunks, " names", "s name"),
                      mt_plural(n->n_odd_chunks, "was", "were"));
    if (n->n_undefined != 0)
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0,
                      "%llu name%s, stack%s, module%s or device%s used but never defined: the "
                      "chunks with their definitions are lost",
                      (unsigned long long)n->n_undefined, mt_plural(n->n_undefined, "", "s"),
                      mt_plural(n->n_undefined, "", "s"), mt_plural(n->n_undefined, "", "s"),
                      mt_plural(n->n_undefined, " is", "s are"));
    if (n->d->n_unknown_records != 0)
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0,
                      "%llu record%s of a type that this version does not know, and %s passed over",
                      (unsigned long long)n->d->n_unknown_records,
                      mt_plural(n->d->n_unknown_records, " is", "s are"),
                      mt_plural(n->d->n_unknown_records, "was", "were"));
}

int mt_native_finish(struct mt_native *n)
{
    if (!mt_native_identities(n) || !mt_native_stacks(n) || !mt_native_gpus(n) ||
        !mt_native_ranges(n))
        return 0;
    resolve(n);
    count_missing(n);
    say_losses(n);
    if (!mt_intern_functions(n->t))
        return mt_native_nomem(n);
    return mt_native_sort(n);
}
