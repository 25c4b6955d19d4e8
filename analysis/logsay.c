/* logsay.c -- the diagnosis of a log in sentences: what failed, and why. */
#include "analysis/logdiag.h"
#include "analysis/words.h"

#include <stdio.h>
#include <string.h>

static void subject(struct mt_sentence *t, const struct mt_log_fact *f)
{
    if (f->rank >= 0)
        mt_words_add(t, "Rank %d", (int)f->rank);
    else
        mt_words_add(t, "A process");
    if (f->pid >= 0)
        mt_words_add(t, " (pid %lld)", (long long)f->pid);
    if (f->gpu >= 0)
        mt_words_add(t, " on GPU %d", (int)f->gpu);
}

/* ", in the actor's update (backward)," */
static void where(struct mt_sentence *t, const struct mt_logdiag *d)
{
    char phase[96];
    if (d->phase != MT_PH_UNATTRIBUTED || (d->sub != MT_PH_NONE && d->sub != MT_PH_UNATTRIBUTED))
        mt_words_add(t, ", in %s,", mt_words_phase(phase, sizeof phase, d->phase, d->sub));
}

/* "PyTorch held 70.30 GiB (12.00 GiB of it reserved but unallocated), this process outside PyTorch 1.10 GiB, other processes 5.00 GiB" */
static void holders(struct mt_sentence *t, const struct mt_logdiag *d)
{
    char b[32];
    const char *sep = ": ";
    if (d->reserved != MT_LOG_NONE || d->allocated != MT_LOG_NONE) {
        mt_words_add(t, "%sPyTorch held %s", sep, mt_words_bytes(b, d->reserved != MT_LOG_NONE ? d->reserved : d->allocated));
        if (d->unallocated != MT_LOG_NONE)
            mt_words_add(t, " (%s of it reserved but unallocated", mt_words_bytes(b, d->unallocated));
        if (d->private_pools != MT_LOG_NONE)
            mt_words_add(t, "%s%s in private pools", d->unallocated != MT_LOG_NONE ? ", " : " (",
                         mt_words_bytes(b, d->private_pools));
        if (d->unallocated != MT_LOG_NONE || d->private_pools != MT_LOG_NONE)
            mt_words_add(t, ")");
        sep = ", ";
    }
    if (d->outside != MT_LOG_NONE) {
        mt_words_add(t, "%sthis process outside PyTorch %s", sep, mt_words_bytes(b, d->outside));
        sep = ", ";
    }
    if (d->others != MT_LOG_NONE && (d->others_named ? d->n_others != 0 : d->others > MT_LOG_ROUNDED)) {
        mt_words_add(t, "%s%s %s", sep, d->others_named ? "other processes" : "other processes and the driver",
                     mt_words_bytes(b, d->others));
        sep = ", ";
    }
    if (d->this_process == MT_LOG_NONE && d->reserved != MT_LOG_NONE) {
        uint64_t rest = mt_log_minus(mt_log_minus(d->capacity, d->free), d->reserved);
        if (rest != MT_LOG_NONE && rest > MT_LOG_ROUNDED)
            mt_words_add(t, "%s%s of the card outside PyTorch (CUDA itself, NCCL, other processes)", sep,
                         mt_words_bytes(b, rest));
    }
}

static void say_torch(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    char a[32], b[32], c[32];
    subject(t, f);
    where(t, d);
    mt_words_add(t, " asked for %s%s", d->request == MT_LOG_EXA ? "more than " : "",
                 mt_words_bytes(a, mt_log_or_zero(d->request)));
    if (d->free != MT_LOG_NONE && d->capacity != MT_LOG_NONE)
        mt_words_add(t, " and %s of %s were free", mt_words_bytes(b, d->free), mt_words_bytes(c, d->capacity));
    holders(t, d);
}

static void say_other(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    char words[MT_FACT_WORDS], a[32];
    mt_log_fact_words(words, f);
    if (f->kind == MT_LOG_KILLED && f->text[0] != '\0') {
        mt_words_add(
            t, "A worker of Ray died, and nothing in the log says why: the usual reasons are host memory, also the limit of a "
               "container (`dmesg -T` shows it), and a crash, which leaves a line further up in the worker's own log");
    } else if (f->kind == MT_LOG_KILLED) {
        mt_words_add(
            t, "A process was killed by a signal, and nothing in the log says why: the usual reason is host memory (`dmesg -T` "
               "shows "
               "it)");
    } else if (f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL || f->kind == MT_LOG_HOST_OOM) {
        mt_words_add(t, "The host ran out of memory, not the GPU: %s", words);
    } else {
        subject(t, f);
        if (f->stack != 0)
            where(t, d);
        if (f->kind == MT_LOG_VLLM_STARTUP) {
            mt_words_add(t, " could not start vLLM: it wants %s, ", mt_words_bytes(a, mt_log_or_zero(f->value[3])));
            mt_words_add(t, "%s of ", mt_words_bytes(a, mt_log_or_zero(f->value[0])));
            mt_words_add(t, "%s were free", mt_words_bytes(a, mt_log_or_zero(f->value[1])));
        } else {
            mt_words_add(t, " failed: %s", words);
        }
    }
}

static void because_torch(struct mt_sentence *t, const struct mt_logdiag *d)
{
    char a[32], b[32];
    switch ((int)d->cause) {
    case MT_LC_FRAGMENTATION:
        mt_words_add(
            t,
            "PyTorch had reserved %s more than it used, and %s were asked for: there were bytes enough%s, but not in one "
            "piece, "
            "or in pools that serve other streams.",
            mt_words_bytes(a, d->unallocated), mt_words_bytes(b, d->request),
            d->unallocated >= d->request ? "" : " together with what was free");
        break;
    case MT_LC_FOREIGN:
        if (d->reserved == MT_LOG_NONE || mt_log_or_zero(d->others) > mt_log_or_zero(mt_log_minus(d->request, d->free)))
            mt_words_add(
                t,
                "Without the %s of %s the request would have fitted. An inference engine of the same job is such a process as "
                "well.",
                mt_words_bytes(a, d->others), d->n_others == 1 ? "the other process" : "other processes");
        else
            mt_words_add(
                t,
                "%s of the card are neither free nor held by PyTorch in this process, and without them the request would have "
                "fitted: "
                "another process (a container counts all of them as one), an inference engine of the same job, NCCL.",
                mt_words_bytes(a, mt_log_minus(mt_log_minus(d->capacity, d->free), d->reserved)));
        break;
    case MT_LC_LIMIT:
        if (d->allowed != MT_LOG_NONE)
            mt_words_add(t, "The process may use %s (set_per_process_memory_fraction).", mt_words_bytes(a, d->allowed));
        else
            mt_words_add(
                t,
                "More was free than was asked for: a limit of the process or of its allocator refused, or somebody else gave "
                "memory back between the failure and the message.");
        break;
    case MT_LC_CAPACITY:
        if (d->unallocated != MT_LOG_NONE && d->unallocated >= d->request)
            mt_words_add(
                t,
                "Of what PyTorch had reserved only %s were not in use, less than a fiftieth: the ends of many segments, as "
                "on any full card.",
                mt_words_bytes(a, d->unallocated));
        else if (d->unallocated != MT_LOG_NONE)
            mt_words_add(t,
                         "Of what PyTorch had reserved only %s were not in use: less than the %s asked for, so this is no "
                         "fragmentation.",
                         mt_words_bytes(a, d->unallocated), mt_words_bytes(b, d->request));
        break;
    default:
        if (d->request == MT_LOG_EXA)
            mt_words_add(
                t, "No card holds that: the size was computed wrongly, from broken or unexpected metadata. Look at what the "
                   "traceback was loading or gathering, and at errors before this one.");
        else
            mt_words_add(t, "The line has no numbers to tell a cause from.");
        break;
    }
}

static void because_other(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    char a[32];
    switch ((int)f->kind) {
    case MT_LOG_NCCL_OOM:
        mt_words_add(t, "NCCL allocates outside PyTorch: what PyTorch keeps reserved without using it is not free for NCCL.");
        break;
    case MT_LOG_CUMEM_OOM:
        mt_words_add(
            t, "This is where vLLM maps its memory again when it wakes: something else held the card at that moment, mostly "
               "what the "
               "trainer keeps reserved.");
        break;
    case MT_LOG_SAVER_OOM:
        mt_words_add(t, "This is where memory that was given back is mapped again, when SGLang's engine or the trainer wakes: "
                        "something else held the "
                        "card at that moment. Confirm that the other one had gone to sleep, or lower the engine's share.");
        break;
    case MT_LOG_VLLM_WARMUP:
        mt_words_add(t,
                     "That comes on top of the engine's share: a smaller share or fewer sequences at once leave room for it.");
        break;
    case MT_LOG_VLLM_MEASURE:
        mt_words_add(t, "vLLM computes its KV cache from the difference and refuses when it is not less: another process, or "
                        "this one, gave memory "
                        "back "
                        "meanwhile. Start engines one after the other, and let what was there before finish first.");
        break;
    case MT_LOG_CUDA_OOM:
        mt_words_add(t, "What a call of CUDA needs - a graph, a kernel's stack, a library's handle - lies outside PyTorch, "
                        "which or others had "
                        "left too little free; the line says no more.");
        break;
    case MT_LOG_CUBLAS_OOM:
        mt_words_add(t, "cuBLAS allocates its handle outside PyTorch, which had left too little free.");
        break;
    case MT_LOG_VLLM_STARTUP:
        mt_words_add(
            t,
            "gpu_memory_utilization %llu.%02llu is a share of the whole card, whatever others already hold of it; at most "
            "%llu.%02llu "
            "would have started.",
            (unsigned long long)f->value[2] / 10000, (unsigned long long)f->value[2] / 100 % 100,
            (unsigned long long)(mt_log_or_zero(f->value[1]) > 0 ? f->value[0] / (f->value[1] / 100 + 1) / 100 : 0),
            (unsigned long long)(mt_log_or_zero(f->value[1]) > 0 ? f->value[0] / (f->value[1] / 100 + 1) % 100 : 0));
        break;
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_NO_KV:
        mt_words_add(
            t, "The KV cache is what remains of the engine's share after its weights: here the share has to be larger, or the "
               "longest "
               "sequence shorter.");
        break;
    case MT_LOG_POOL_REFUSED:
        mt_words_add(
            t,
            "vLLM's sleep mode needs a memory pool of its own, which this version does not combine with expandable segments.");
        break;
    case MT_LOG_RAY_KILL:
        if (f->value[1] != MT_LOG_NONE && f->value[0] != MT_LOG_NONE && f->value[1] >= f->value[0])
            mt_words_add(t, "%s of the node's memory was left when Ray's memory monitor stepped in.",
                         mt_words_bytes(a, f->value[1] - f->value[0]));
        break;
    default: break;
    }
    (void)d;
}

static void say_context(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_logs *logs,
                        const struct mt_log_fact *f)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    const struct mt_log_fact *mark = mt_logdiag_mark(log, d->fact);
    if (mark != NULL)
        mt_words_add(t, "%sThe last memory line before it, line %llu, says \"%s\".", t->n != 0 ? " " : "",
                     (unsigned long long)mark->line, mark->text);
    if (d->n_distinct > 1)
        mt_words_add(t, "%sThe log holds %llu failures; this is the first.", t->n != 0 ? " " : "",
                     (unsigned long long)d->n_distinct);
    (void)f;
}

static bool keep(char **out, const struct mt_sentence *t)
{
    *out = mt_strndup(t->buf, t->n);
    return *out != NULL;
}

bool mt_logdiag_say(struct mt_logdiag *d, const struct mt_logs *logs)
{
    struct mt_sentence s = {.n = 0}, b = {.n = 0};
    const struct mt_log_fact *f;
    if (d->cause == MT_LC_NONE) {
        uint64_t n = mt_logs_facts(logs);
        mt_words_add(&s, "The log%s of no failure for want of memory; %llu of %s lines tell how memory was used.",
                     n == 0 ? " says" : " tells", (unsigned long long)n, logs->files.n == 1 ? "its" : "their");
        return keep(&d->sentence, &s) && keep(&d->because, &b);
    }
    f = &logs->files.p[d->file].log.facts.p[d->fact];
    if (f->kind == MT_LOG_TORCH_OOM) {
        say_torch(&s, d, f);
        because_torch(&b, d);
    } else {
        say_other(&s, d, f);
        because_other(&b, d, f);
    }
    mt_words_add(&s, ".");
    say_context(&b, d, logs, f);
    return keep(&d->sentence, &s) && keep(&d->because, &b);
}
