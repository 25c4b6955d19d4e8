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
    char words[MT_FACT_WORDS], a[32], b[32], c[32];
    subject(t, f);
    where(t, d);
    if (d->request == MT_LOG_NONE) {
        mt_words_add(t, " ran out of memory: %s", mt_log_fact_words(words, f));
        return;
    }
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
    if (f->kind == MT_LOG_KILLED && strcmp(f->text, "loader") == 0) {
        mt_words_add(
            t, "A worker of PyTorch's data loader died, and nothing in the log says why: the usual reason is host memory, "
               "also the limit of a container (`dmesg -T` shows it)");
    } else if (f->kind == MT_LOG_KILLED && f->text[0] != '\0') {
        mt_words_add(
            t, "A worker of Ray died, and nothing in the log says why: the usual reasons are host memory, also the limit of a "
               "container (`dmesg -T` shows it), and a crash, which leaves a line further up in the worker's own log");
    } else if (f->kind == MT_LOG_KILLED) {
        mt_words_add(
            t, "A process was killed by a signal, and nothing in the log says why: the usual reason is host memory (`dmesg -T` "
               "shows "
               "it)");
    } else if (f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL || f->kind == MT_LOG_HOST_OOM) {
        mt_words_add(t, "The host ran out of %smemory, not the GPU: %s",
                     f->kind == MT_LOG_HOST_OOM && f->text[0] == 's' ? "shared " : "", words);
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

static void because_torch(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
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
        if (strcmp(f->text, "block") == 0)
            mt_words_add(
                t,
                "The platform allocates no single block above %s (Intel's driver: UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 "
                "lifts that where it can).",
                mt_words_bytes(a, d->allowed));
        else if (f->platform == 'X' && d->request >= MT_LOG_LARGE_BLOCK)
            mt_words_add(t,
                         "Intel's driver allocates no block of 4 GiB or more on many cards, however much is free, unless the "
                         "environment has UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1.");
        else if (d->allowed != MT_LOG_NONE)
            mt_words_add(t, "The process may use %s (set_per_process_memory_fraction).", mt_words_bytes(a, d->allowed));
        else
            mt_words_add(
                t,
                "More was free than was asked for: a limit of the process or of its allocator refused, or somebody else gave "
                "memory back between the failure and the message.");
        break;
    case MT_LC_CAPACITY:
        if (mt_logdiag_spilled(d))
            mt_words_add(
                t,
                "That is more than the card has: the driver keeps the rest in the host's memory, which is slow (Windows does, "
                "unless its CUDA sysmem fallback is switched off). What is used has to shrink by the difference first.");
        else if (d->request > d->capacity && d->capacity != MT_LOG_NONE)
            mt_words_add(t, "The request alone is larger than the card.");
        else if (d->unallocated != MT_LOG_NONE && d->unallocated >= d->request)
            mt_words_add(
                t,
                "Of what PyTorch had reserved only %s were not in use, less than a thirtieth: the ends of many segments, as "
                "on any full card.",
                mt_words_bytes(a, d->unallocated));
        else if (mt_logdiag_fits_joined(d))
            mt_words_add(
                t,
                "The %s that PyTorch had reserved and did not use would have sufficed together with what was free, but not in "
                "pieces: expandable segments may be just enough.",
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
        else if (strcmp(f->text, "async") == 0)
            mt_words_add(
                t, "The allocator is cudaMallocAsync, and its numbers, which follow in PyTorch's own message, are not in this "
                   "log.");
        else if (strcmp(f->text, "nvml") == 0)
            mt_words_add(
                t,
                "PyTorch failed over its own message: it asks NVML who holds the card, and NVML does not answer here (Jetson, "
                "WSL, some containers and mismatched drivers). It asks only after an allocation has failed.");
        else if (strcmp(f->text, "ray") == 0)
            mt_words_add(
                t, "The sentence with the numbers stands at the end of that process's own traceback, which is not in this "
                   "log. Ray's error of a full host has the same name.");
        else if (d->free == MT_LOG_NONE && d->request != MT_LOG_NONE && d->capacity != MT_LOG_NONE &&
                 d->reserved != MT_LOG_NONE)
            mt_words_add(
                t,
                "PyTorch held only %s of the card's %s, and the line does not say what was free: others held the rest, "
                "or the platform refuses a block of that size.",
                mt_words_bytes(a, d->reserved), mt_words_bytes(b, d->capacity));
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
        if (strncmp(f->text, "NVIDIA", 6) == 0) {
            mt_words_add(t,
                         "That is a line of the system's log. Where processor and GPU share their memory (GB10, GH200, Jetson) "
                         "both run out together, the page cache included: leave the host room, and give an engine a smaller "
                         "share.");
            break;
        }
        mt_words_add(t, "What such a call needs - a graph, a kernel's stack, a library's handle - lies outside PyTorch, "
                        "which or others had "
                        "left too little free; the line says no more.");
        break;
    case MT_LOG_NPU_OOM:
        mt_words_add(
            t,
            "CANN and HCCL allocate outside PyTorch: what PyTorch keeps reserved without using it is not free for them. HCCL "
            "takes two buffers of HCCL_BUFFSIZE (200 MB each by default) for every communicator.");
        break;
    case MT_LOG_HOST_OOM:
        if (f->text[0] == 's')
            mt_words_add(
                t,
                "Shared memory (/dev/shm) was full, not the whole host: start the container with --shm-size=16g or --ipc=host, "
                "or use fewer data loader workers.");
        else if (f->text[0] != '\0')
            mt_words_add(
                t, "CUDA says \"out of memory\" of host memory that cannot be pinned as well. Pinned memory is never swapped: "
                   "it has to fit beside everything else of the node, and WSL allows only a part of it. Unpinned (pin_memory "
                   "off, in the data loader or in what offloads) it is slower, and needs none of that.");
        break;
    case MT_LOG_KILLED:
        if (strcmp(f->text, "loader") == 0)
            mt_words_add(t,
                         "Each of them holds a copy of the dataset object and the samples that it has prepared: fewer workers "
                         "(num_workers), or smaller samples and a smaller prefetch_factor.");
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
    case MT_LOG_SGLANG_KV_FULL:
        if (f->value[0] != MT_LOG_NONE && f->value[1] != MT_LOG_NONE && f->value[1] >= f->value[0])
            mt_words_add(
                t, "More tokens were left than were asked for: the cache is handed out in pages, and each request needs a page "
                   "of its own. ");
        mt_words_add(
            t, "The KV cache has a fixed size, set at start from the engine's share: a larger share, fewer requests at once or "
               "shorter sequences. This is no lack of memory on the card.");
        break;
    case MT_LOG_VLLM_KV:
    case MT_LOG_VLLM_PROFILE:
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_NO_KV:
        mt_words_add(
            t, "The KV cache is what remains of the engine's share after its weights: here the share has to be larger, or the "
               "longest "
               "sequence shorter.");
        if (f->kind == MT_LOG_VLLM_NO_KV && f->value[2] == MT_LOG_NONE && f->value[3] != MT_LOG_NONE)
            mt_words_add(t, " By vLLM's own estimate %llu tokens would fit.", (unsigned long long)f->value[3]);
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

/* What does not fit before anything runs is no matter of batches. */
static void say_set_up(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->cause != MT_LC_CAPACITY)
        return;
    if (d->phase == MT_PH_ROLLOUT_LOAD)
        mt_words_add(
            t,
            "%sThe engine was still loading: more GPUs for each engine (tensor parallel), a smaller or a quantised model, or "
            "less that holds the card beside it.",
            t->n != 0 ? " " : "");
    else if (d->phase == MT_PH_CKPT_LOAD)
        mt_words_add(
            t, "%sWhat is loaded lies beside what is there already: load it on the CPU (map_location), or piece by piece.",
            t->n != 0 ? " " : "");
    else if (d->phase == MT_PH_INIT)
        mt_words_add(
            t,
            "%sNothing ran yet: what this process builds or loads does not fit. Shard it over more processes, build it on the "
            "meta device or load it on the CPU, so that no process holds the whole.",
            t->n != 0 ? " " : "");
}

/* How full the host was, when a kill or the host's memory is the matter. */
static void say_host(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log *log)
{
    char words[MT_FACT_WORDS];
    if (d->cause != MT_LC_KILLED && d->cause != MT_LC_HOST)
        return;
    for (uint32_t i = d->fact; i-- > 0;) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind == MT_LOG_HOST_USAGE) {
            mt_words_add(t, "%sLine %llu, before it, says: %s.", t->n != 0 ? " " : "", (unsigned long long)f->line,
                         mt_log_fact_words(words, f));
            return;
        }
    }
}

static const char *base(char buf[64], const struct mt_logs *logs, uint32_t file)
{
    const char *name = logs->files.p[file].name, *slash = name != NULL ? strrchr(name, '/') : NULL;
    name = name == NULL ? "a log" : slash != NULL ? slash + 1 : name;
    return mt_printable(buf, 64, name, strlen(name));
}

/* Two logs of jobs that have nothing to do with each other: the verdict is about one of them. */
static void say_other_job(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_logs *logs)
{
    struct mt_logs_clash c;
    char here[64], there[64], a[32], b[32];
    if (!mt_logs_other_job(logs, d->file, &c))
        return;
    base(here, logs, d->file);
    base(there, logs, c.file);
    if (c.here != NULL)
        mt_words_add(t, "%sThese logs seem to be of different jobs: %s names files of %s, %s of %s.", t->n != 0 ? " " : "",
                     here, c.here, there, c.there);
    else
        mt_words_add(
            t, "%sThese logs seem to be of different jobs, or of machines with different cards: %s has one of %s, %s of %s.",
            t->n != 0 ? " " : "", here, mt_words_bytes(a, c.size_here), there, mt_words_bytes(b, c.size_there));
    mt_words_add(t, " The verdict is about %s; make a report of each.", here);
}

static void say_context(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_logs *logs,
                        const struct mt_log_fact *f)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    const struct mt_log_fact *mark = mt_logdiag_mark(log, d->fact);
    if (mark != NULL)
        mt_words_add(t, "%sThe last memory line before it, line %llu, says \"%s\".", t->n != 0 ? " " : "",
                     (unsigned long long)mark->line, mark->text);
    say_set_up(t, d);
    say_host(t, d, log);
    say_other_job(t, d, logs);
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

/* PyTorch's own first tries: harmless only if the job goes on. */
static uint64_t first_tries(const struct mt_logs *logs)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++)
            n += log->facts.p[k].kind == MT_LOG_RETRIED && log->facts.p[k].value[1] != MT_LOG_NONE;
    }
    return n;
}

static void say_no_failure(struct mt_sentence *t, struct mt_sentence *b, const struct mt_logs *logs)
{
    const char *subject = logs->files.n == 1 ? "The log tells" : "The logs tell";
    uint64_t n = mt_logs_facts(logs) - mt_logs_count(logs, MT_LOG_KERNEL_LIMIT), again = mt_logs_count(logs, MT_LOG_RETRIED),
             tries = first_tries(logs);
    again -= tries;
    n -= tries;
    mt_words_add(t, "%s of no failure for want of memory", subject);
    if (n > again)
        mt_words_add(t, "; %llu line%s say%s how memory was used", (unsigned long long)(n - again), n - again == 1 ? "" : "s",
                     n - again == 1 ? "s" : "");
    if (again != 0) {
        mt_words_add(t, "; %llu line%s that sound%s like one %s harmless", (unsigned long long)again, again == 1 ? "" : "s",
                     again == 1 ? "s" : "", again == 1 ? "is" : "are");
        mt_words_add(b, "What did not fit was tried again after memory had been given back, or requests were put off: the job "
                        "went on. Where "
                        "it ended all the same, the reason stands further down, or in another process's log.");
    }
    if (tries != 0) {
        mt_words_add(t, "; %llu time%s an allocation of PyTorch did not fit at the first try", (unsigned long long)tries,
                     tries == 1 ? "" : "s");
        mt_words_add(b,
                     "%sPyTorch then empties its cache and tries again: the card was full at that moment. Where the job ended "
                     "there, the error itself is missing from this log.",
                     b->n != 0 ? " " : "");
    }
    if (mt_logs_have(logs, MT_LOG_KERNEL_LIMIT)) {
        mt_words_add(t, "; a kernel wants more shared memory of a multiprocessor than this GPU has");
        mt_words_add(
            b,
            "%sThat is memory on the chip, a few hundred KiB, and says nothing of how full the GPU is: the kernel's block "
            "sizes or num_stages are made for a larger one.",
            b->n != 0 ? " " : "");
    }
    mt_words_add(t, ".");
}

bool mt_logdiag_say(struct mt_logdiag *d, const struct mt_logs *logs)
{
    struct mt_sentence s = {.n = 0}, b = {.n = 0};
    const struct mt_log_fact *f;
    if (d->cause == MT_LC_NONE) {
        say_no_failure(&s, &b, logs);
        return keep(&d->sentence, &s) && keep(&d->because, &b);
    }
    f = &logs->files.p[d->file].log.facts.p[d->fact];
    if (f->kind == MT_LOG_TORCH_OOM) {
        say_torch(&s, d, f);
        because_torch(&b, d, f);
    } else {
        say_other(&s, d, f);
        because_other(&b, d, f);
    }
    mt_words_add(&s, ".");
    say_context(&b, d, logs, f);
    return keep(&d->sentence, &s) && keep(&d->because, &b);
}
