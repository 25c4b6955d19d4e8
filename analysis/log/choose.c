/* log/choose.c -- which line of the logs the diagnosis is about. */
#include "analysis/log/diagnose.h"

#include <string.h>

static bool same_writer(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    return a->kind == b->kind && (a->pid < 0 || b->pid < 0 || a->pid == b->pid) &&
           (a->rank < 0 || b->rank < 0 || a->rank == b->rank);
}

/* The numbers of a failure stand in one of the lines that follow it: NCCL's, Ray's. */
static bool follows(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    /* Ray's first line names nobody */
    bool whose = a->kind == MT_LOG_RAY_KILL || same_writer(a, b);
    uint64_t far = a->kind == MT_LOG_RAY_KILL ? 16 : 4; /* its summary stands above */
    return whose && a->kind == b->kind && b->line >= a->line && b->line - a->line <= far &&
           a->value[0] == MT_LOG_NONE && b->value[0] != MT_LOG_NONE;
}

/* A title that ends within PyTorch's sentence, and the whole sentence below it. */
static bool is_fuller(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    return a->kind == MT_LOG_TORCH_OOM && b->kind == MT_LOG_TORCH_OOM &&
           a->value[MT_LO_REQUEST] != MT_LOG_NONE &&
           a->value[MT_LO_REQUEST] == b->value[MT_LO_REQUEST] &&
           a->value[MT_LO_FREE] == MT_LOG_NONE && b->value[MT_LO_FREE] != MT_LOG_NONE &&
           (a->gpu < 0 || b->gpu < 0 || a->gpu == b->gpu);
}

/* Printed again: by a traceback, by Ray's driver. */
static bool same(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    return (same_writer(a, b) && memcmp(a->value, b->value, sizeof a->value) == 0) ||
           follows(a, b) || is_fuller(a, b) || is_fuller(b, a);
}

/* The sentence of PyTorch once more, as another writer may print it: mostly with the traceback. */
static bool repeats(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    return a->kind == MT_LOG_TORCH_OOM && a->gpu == b->gpu && same_writer(a, b) &&
           memcmp(a->value, b->value, sizeof a->value) == 0;
}

/* The error's name alone, or its traceback alone: what it is about stands elsewhere, mostly in the
 * same log. */
static bool only_named(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_CUT ||
           (f->kind == MT_LOG_TORCH_OOM && f->value[MT_LO_REQUEST] == MT_LOG_NONE) ||
           mt_log_is_talk(f);
}

/* vLLM never starts with such a line, whatever it says further down. */
static bool no_cache_left(const struct mt_log_fact *f)
{
    return (f->kind == MT_LOG_VLLM_KV && f->value[0] == 0) ||
           (f->kind == MT_LOG_VLLM_PROFILE && f->value[3] == 0);
}

/* PyTorch's own counters, printed after it, whose line is not here. */
static bool counts_failures(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_COUNTERS && f->value[MT_LC_OOMS] != MT_LOG_NONE &&
           f->value[MT_LC_OOMS] != 0;
}

const struct mt_log_fact *mt_logdiag_stop(const struct mt_log *log, const struct mt_log_fact *f)
{
    /* lines from a kill to the scheduler's own word, which is written late, and from that word to
     * what the processes still write; a job that was started again writes on */
    enum { NEAR = 64, FAR = 256 };
    for (uint32_t i = 0; f->kind == MT_LOG_KILLED && i < log->facts.n; i++) {
        const struct mt_log_fact *g = &log->facts.p[i];
        if (g->kind == MT_LOG_STOPPED &&
            (g->line <= f->line ? f->line - g->line <= FAR
                                : g->value[0] != MT_LS_STEP && g->line - f->line <= NEAR))
            return g;
    }
    return NULL;
}

/* Where no line tells a failure in full: the innermost error that is named, or the first line that
 * tells of one in words, which has what happened, not what was tried against it; then what cannot
 * have gone well. */
static void choose_less(struct mt_logdiag *d, const struct mt_logs *logs,
                        const struct mt_log_fact *best)
{
    for (int pass = 0; pass < 3 && (best == NULL || best->kind == MT_LOG_KILLED); pass++) {
        for (uint32_t i = 0; i < logs->files.n; i++) {
            const struct mt_log *log = &logs->files.p[i].log;
            for (uint32_t k = 0; k < log->facts.n; k++) {
                const struct mt_log_fact *f = &log->facts.p[k];
                if (pass == 0   ? !only_named(f) || (best != NULL && mt_log_is_talk(f))
                    : pass == 1 ? best != NULL || !no_cache_left(f)
                                : best != NULL || !counts_failures(f))
                    continue;
                best = f;
                d->file = i;
                d->fact = k;
                d->n_failures = d->n_distinct = 1;
            }
        }
    }
}

/* Shared memory is a part of the host's with a limit of its own, and pinned memory has one too. */
static bool of_host(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL ||
           (f->kind == MT_LOG_HOST_OOM && (f->text[0] == '\0' || mt_log_is_talk(f)));
}

bool mt_logs_host_ran_out(const struct mt_logs *l)
{
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.facts.n; k++)
            if (of_host(&l->files.p[i].log.facts.p[k]))
                return true;
    return false;
}

static bool of_gpu(const struct mt_log_fact *f)
{
    return (f->kind == MT_LOG_TORCH_OOM && !only_named(f)) ||
           (f->kind >= MT_LOG_NCCL_OOM && f->kind <= MT_LOG_CUBLAS_OOM);
}

/* Beside words about the host's memory those about the card's count as well. */
static bool is_talk_of_gpu(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_TORCH_OOM && mt_log_is_talk(f);
}

/* The host's memory beside the GPU's, or the reverse: each needs help of its own, and what helps
 * one may cost the other. A kill alone counts for the host's only where nothing else does. */
static void choose_other(struct mt_logdiag *d, const struct mt_logs *logs)
{
    const struct mt_log_fact *first, *best = NULL;
    bool talk;
    if (d->n_failures == 0)
        return;
    first = &logs->files.p[d->file].log.facts.p[d->fact];
    talk = mt_log_is_talk(first);
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            bool killed = f->kind == MT_LOG_KILLED && mt_logdiag_stop(log, f) == NULL,
                 fits = of_host(first)
                            ? of_gpu(f) || (talk && is_talk_of_gpu(f))
                            : (of_gpu(first) && (of_host(f) || killed)) || (talk && of_host(f));
            if (!fits ||
                (best != NULL && (best->kind != MT_LOG_KILLED || f->kind == MT_LOG_KILLED) &&
                 !(d->other_file == i && follows(best, f))))
                continue;
            best = f;
            d->other_file = i;
            d->other = k;
            d->has_other = true;
            d->both = f->kind != MT_LOG_KILLED;
        }
    }
}

/* A library's own line, with no traceback: such programs go on with less (llama.cpp with fewer
 * layers, TensorRT with another kernel), and PyTorch's sentence below it ended the job. */
static bool goes_on(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_CUDA_OOM && f->stack == 0 && f->text[0] != '\0';
}

/* Two failures of PyTorch shortly after each other, in ranks of one job or in one that went on at
 * first: the one whose own traceback is there tells what ran, the other its numbers alone. */
static bool tells_more(const struct mt_log *log, const struct mt_log_fact *best,
                       const struct mt_log_fact *f)
{
    enum { NEAR = 64 };
    const struct mt_log_stack *s = f->stack != 0 ? &log->stacks.p[f->stack - 1] : NULL;
    bool placed = best->stack != 0 && log->stacks.p[best->stack - 1].frames.n != 0;
    return best->kind == MT_LOG_TORCH_OOM && f->kind == MT_LOG_TORCH_OOM && !placed && s != NULL &&
           s->frames.n != 0 && !s->is_mates && f->line - best->line <= NEAR;
}

void mt_logdiag_choose(struct mt_logdiag *d, const struct mt_logs *logs)
{
    const struct mt_log_fact *best = NULL, *last = NULL;
    bool more;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            if (!mt_log_is_failure(f->kind) || only_named(f) || mt_logdiag_stop(log, f) != NULL)
                continue;
            d->n_failures++;
            d->n_distinct +=
                last == NULL ||
                (!same(last, f) &&
                 f->kind != MT_LOG_KILLED); /* a kill after a failure follows from it */
            last = f;
            d->hints_expandable |= f->hints_expandable;
            /* A process that failed is killed afterwards: the kill is then not the news. */
            d->passed_over |= best != NULL && goes_on(best) && f->kind == MT_LOG_TORCH_OOM;
            more = best != NULL && d->file == i && tells_more(log, best, f) && !repeats(best, f);
            d->traced |= more;
            if (best == NULL || more || (goes_on(best) && f->kind == MT_LOG_TORCH_OOM) ||
                (d->file == i && best->stack == 0 && f->stack != 0 && repeats(best, f)) ||
                (best->kind == MT_LOG_KILLED && f->kind != MT_LOG_KILLED) ||
                (d->file == i && (follows(best, f) || is_fuller(best, f)))) {
                best = f;
                d->file = i;
                d->fact = k;
            }
        }
    }
    choose_less(d, logs, best);
    choose_other(d, logs);
}
