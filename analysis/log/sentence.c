/* log/sentence.c -- the diagnosis of a log in sentences: what failed, and why. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

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
        mt_words_add(t, " on %s %d", mt_log_device(f), (int)f->gpu);
}

/* ", in the actor's update (backward)," */
static void where(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->phase != MT_PH_UNATTRIBUTED || (d->sub != MT_PH_NONE && d->sub != MT_PH_UNATTRIBUTED))
        mt_words_add(t, ", in %s,", MT_PHASE_WORDS(d->phase, d->sub));
}

/* "PyTorch held 70.30 GiB (12.00 GiB of it reserved but unallocated), this process outside
 * PyTorch 1.10 GiB, other processes 5.00 GiB" */
static void holders(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    char b[32];
    const char *sep = ": ";
    if (d->reserved != MT_LOG_NONE || d->allocated != MT_LOG_NONE) {
        mt_words_add(t, "%sPyTorch held %s", sep,
                     mt_words_bytes(b, d->reserved != MT_LOG_NONE ? d->reserved : d->allocated));
        if (d->unallocated != MT_LOG_NONE)
            mt_words_add(t, " (%s of it reserved but unallocated",
                         mt_words_bytes(b, d->unallocated));
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
    if (d->others != MT_LOG_NONE &&
        (d->others_named ? d->n_others != 0 : d->others > MT_LOG_ROUNDED)) {
        mt_words_add(t, "%s%s %s", sep,
                     d->others_named ? "other processes" : "other processes and the driver",
                     mt_words_bytes(b, d->others));
        sep = ", ";
    }
    if (d->this_process == MT_LOG_NONE && d->reserved != MT_LOG_NONE) {
        uint64_t rest = mt_log_minus(mt_log_minus(d->capacity, d->free), d->reserved);
        if (rest != MT_LOG_NONE && rest > MT_LOG_ROUNDED)
            mt_words_add(t, "%s%s of the card outside PyTorch (%s, other processes)", sep,
                         mt_words_bytes(b, rest),
                         f->platform == 'N' ? "CANN itself, HCCL" : "CUDA itself, NCCL");
    }
}

static void say_torch(struct mt_sentence *t, const struct mt_logdiag *d,
                      const struct mt_log_fact *f)
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
        mt_words_add(t, " and %s of %s were free", mt_words_bytes(b, d->free),
                     mt_words_bytes(c, d->capacity));
    holders(t, d, f);
}

static void say_other(struct mt_sentence *t, const struct mt_logdiag *d,
                      const struct mt_log_fact *f)
{
    char words[MT_FACT_WORDS], a[32];
    mt_log_fact_words(words, f);
    if (f->kind == MT_LOG_KILLED && strcmp(f->text, "loader") == 0) {
        mt_words_add(t, "A worker of PyTorch's data loader died, and nothing in the log says why: "
                        "the usual reason is host memory, "
                        "also the limit of a container (`dmesg -T` shows it)");
    } else if (f->kind == MT_LOG_KILLED && f->text[0] != '\0') {
        mt_words_add(t, "A worker of Ray died, and nothing in the log says why: the usual reasons "
                        "are host memory, also the limit of a "
                        "container (`dmesg -T` shows it), and a crash, which leaves a line further "
                        "up in the worker's own log");
    } else if (f->kind == MT_LOG_KILLED) {
        mt_words_add(t, "A process was killed by a signal, and nothing in the log says why: the "
                        "usual reason is host memory (`dmesg -T` shows it)");
    } else if (f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL ||
               f->kind == MT_LOG_HOST_OOM) {
        mt_words_add(t, "The host ran out of %smemory, not the GPU: %s",
                     f->kind == MT_LOG_HOST_OOM && f->text[0] == 's' ? "shared " : "", words);
    } else {
        subject(t, f);
        if (f->stack != 0)
            where(t, d);
        if (f->kind == MT_LOG_VLLM_STARTUP) {
            mt_words_add(t, " could not start vLLM: it wants %s, ",
                         mt_words_bytes(a, mt_log_or_zero(f->value[3])));
            mt_words_add(t, "%s of ", mt_words_bytes(a, mt_log_or_zero(f->value[0])));
            mt_words_add(t, "%s were free", mt_words_bytes(a, mt_log_or_zero(f->value[1])));
        } else {
            mt_words_add(t, " failed: %s", words);
        }
    }
}

/* What does not fit before anything runs is no matter of batches. */
static void say_set_up(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->cause != MT_CAUSE_CAPACITY)
        return;
    if (d->phase == MT_PH_ROLLOUT_LOAD)
        mt_words_add(t,
                     "%sThe engine was still loading: more GPUs for each engine (tensor parallel), "
                     "a smaller or a quantised model, or "
                     "less that holds the card beside it.",
                     t->n != 0 ? " " : "");
    else if (d->phase == MT_PH_CKPT_LOAD)
        mt_words_add(t,
                     "%sWhat is loaded lies beside what is there already: load it on the CPU "
                     "(map_location), or piece by piece.",
                     t->n != 0 ? " " : "");
    else if (d->phase == MT_PH_INIT)
        mt_words_add(t,
                     "%sNothing ran yet: what this process builds or loads does not fit. Shard it "
                     "over more processes, build it on the "
                     "meta device or load it on the CPU, so that no process holds the whole.",
                     t->n != 0 ? " " : "");
}

/* More than the process has of the card: unmapped behind PyTorch's back. */
static void say_unmapped(struct mt_sentence *t, const struct mt_logdiag *d)
{
    char a[32], b[32];
    if (d->this_process == MT_LOG_NONE || d->reserved == MT_LOG_NONE ||
        d->reserved <= d->this_process + MT_LOG_ROUNDED || mt_logdiag_spilled(d))
        return;
    mt_words_add(t,
                 "%sPyTorch counts %s, but the process has only %s of the card: the rest was "
                 "unmapped by an engine's sleep "
                 "mode, which PyTorch "
                 "does not see.",
                 t->n != 0 ? " " : "", mt_words_bytes(a, d->reserved),
                 mt_words_bytes(b, d->this_process));
}

/* FSDP gathers the whole model on each GPU, or on the first one, to hand out a state dict. */
static void say_gather(struct mt_sentence *t, const struct mt_log *log, const struct mt_log_fact *f)
{
    const struct mt_log_stack *s = f->stack != 0 ? &log->stacks.p[f->stack - 1] : NULL;
    for (uint32_t i = 0; s != NULL && i < s->frames.n; i++) {
        const char *name = s->frames.p[i].function;
        if (strstr(s->frames.p[i].file, "torch/distributed/fsdp/_state_dict_utils.py") == NULL ||
            strncmp(name, "_full_", 6) != 0)
            continue;
        mt_words_add(t,
                     "%sFSDP was gathering the whole state dict on the GPU: gather it on the host "
                     "(FullStateDictConfig(offload_to_cpu=True, rank0_only=True)), or save it in "
                     "shards (SHARDED_STATE_DICT).",
                     t->n != 0 ? " " : "");
        return;
    }
}

/* How full the host was, when a kill or the host's memory is the matter. */
static void say_host(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log *log)
{
    char words[MT_FACT_WORDS];
    if (d->cause != MT_CAUSE_KILLED && d->cause != MT_CAUSE_HOST)
        return;
    for (uint32_t i = d->fact; i-- > 0;) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind == MT_LOG_HOST_USAGE) {
            mt_words_add(t, "%sLine %llu, before it, says: %s.", t->n != 0 ? " " : "",
                         (unsigned long long)f->line, mt_log_fact_words(words, f));
            return;
        }
    }
}

/* torch_memory_saver leaves a margin free whatever is asked for: said where the request would have
 * fitted into it. */
static void say_margin(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log *log)
{
    char a[32];
    if (d->request == MT_LOG_NONE || d->request == MT_LOG_EXA)
        return;
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind != MT_LOG_RETRIED || f->value[4] == MT_LOG_NONE || f->value[1] > f->value[2] ||
            (f->value[1] > d->request ? f->value[1] - d->request : d->request - f->value[1]) >
                MT_LOG_ROUNDED)
            continue;
        mt_words_add(t,
                     "%sIt would have fitted, but torch_memory_saver leaves %s of the card free "
                     "(line %llu); slime sets that with "
                     "--train-memory-margin-bytes.",
                     t->n != 0 ? " " : "", mt_words_bytes(a, f->value[4]),
                     (unsigned long long)f->line);
        return;
    }
}

/* The other memory ran out as well. */
static void say_other_memory(struct mt_sentence *t, const struct mt_logdiag *d,
                             const struct mt_logs *logs)
{
    char words[MT_FACT_WORDS];
    const struct mt_log_fact *f;
    unsigned long long line;
    if (!d->has_other)
        return;
    f = &logs->files.p[d->other_file].log.facts.p[d->other];
    line = (unsigned long long)f->line;
    mt_log_fact_words(words, f);
    mt_words_add(t, "%s", t->n != 0 ? " " : "");
    if (d->cause == MT_CAUSE_HOST)
        mt_words_add(t,
                     "GPU memory ran out as well, in line %llu: %s. What is taken back from the "
                     "host has to fit there: smaller "
                     "batches and more GPUs help both.",
                     line, words);
    else if (f->kind == MT_LOG_KILLED)
        mt_words_add(t,
                     "Line %llu says: %s. A launcher does that to processes that are left after a "
                     "failure; where it was the host "
                     "that ran out of memory, `dmesg -T` shows it.",
                     line, words);
    else
        mt_words_add(t,
                     "The host ran out of memory as well, in line %llu: %s. Nothing more can be "
                     "offloaded to it: smaller batches "
                     "and more GPUs help both.",
                     line, words);
}

static const char *base(char buf[64], const struct mt_logs *logs, uint32_t file)
{
    const char *name = logs->files.p[file].name, *slash = name != NULL ? strrchr(name, '/') : NULL;
    name = name == NULL ? "a log" : slash != NULL ? slash + 1 : name;
    return mt_printable(buf, 64, name, strlen(name));
}

/* Two logs of jobs that have nothing to do with each other: the verdict is about one of them. */
static void say_other_job(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_logs *logs)
{
    struct mt_logs_clash c;
    char here[64], there[64], a[32], b[32];
    if (!mt_logs_other_job(logs, d->file, &c))
        return;
    base(here, logs, d->file);
    base(there, logs, c.file);
    if (c.here != NULL)
        mt_words_add(t,
                     "%sThese logs seem to be of different jobs: %s names files of %s, %s of %s.",
                     t->n != 0 ? " " : "", here, c.here, there, c.there);
    else
        mt_words_add(t,
                     "%sThese logs seem to be of different jobs, or of machines with different "
                     "cards: %s has one of %s, %s of %s.",
                     t->n != 0 ? " " : "", here, mt_words_bytes(a, c.size_here), there,
                     mt_words_bytes(b, c.size_there));
    mt_words_add(t, " The verdict is about %s; make a report of each.", here);
}

static void say_context(struct mt_sentence *t, const struct mt_logdiag *d,
                        const struct mt_logs *logs, const struct mt_log_fact *f)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    const struct mt_log_fact *mark = mt_logdiag_mark(log, d->fact);
    if (mark != NULL)
        mt_words_add(t, "%sThe last memory line before it, line %llu, says \"%s\".",
                     t->n != 0 ? " " : "", (unsigned long long)mark->line, mark->text);
    if (d->cut)
        mt_words_add(t, "%sThe traceback is cut: the phase is read from what is left of it.",
                     t->n != 0 ? " " : "");
    say_set_up(t, d);
    say_unmapped(t, d);
    say_gather(t, log, f);
    say_host(t, d, log);
    mt_logdiag_say_table(t, log, f);
    say_margin(t, d, log);
    say_other_memory(t, d, logs);
    say_other_job(t, d, logs);
    if (d->n_distinct > 1)
        mt_words_add(t, "%sThe log holds %llu failures; this is the first.", t->n != 0 ? " " : "",
                     (unsigned long long)d->n_distinct);
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
    uint64_t n = mt_logs_facts(logs) - mt_logs_count(logs, MT_LOG_KERNEL_LIMIT) -
                 mt_logs_count(logs, MT_LOG_ILLEGAL),
             again = mt_logs_count(logs, MT_LOG_RETRIED), tries = first_tries(logs);
    again -= tries;
    n -= tries;
    mt_words_add(t, "%s of no failure for want of memory", subject);
    if (n > again)
        mt_words_add(t, "; %llu line%s say%s how memory was used", (unsigned long long)(n - again),
                     n - again == 1 ? "" : "s", n - again == 1 ? "s" : "");
    if (again != 0) {
        mt_words_add(t, "; %llu line%s that sound%s like one %s harmless",
                     (unsigned long long)again, again == 1 ? "" : "s", again == 1 ? "s" : "",
                     again == 1 ? "is" : "are");
        mt_words_add(
            b,
            "What did not fit was tried again after memory had been given back, or requests were "
            "put off: the job "
            "went on. Where "
            "it ended all the same, the reason stands further down, or in another process's log.");
    }
    if (tries != 0) {
        mt_words_add(t, "; %llu time%s an allocation of PyTorch did not fit at the first try",
                     (unsigned long long)tries, tries == 1 ? "" : "s");
        mt_words_add(b,
                     "%sPyTorch then empties its cache and tries again: the card was full at that "
                     "moment. Where the job ended "
                     "there, the error itself is missing from this log.",
                     b->n != 0 ? " " : "");
    }
    if (mt_logs_have(logs, MT_LOG_KERNEL_LIMIT)) {
        mt_words_add(t,
                     "; a kernel wants more shared memory of a multiprocessor than this GPU has");
        mt_words_add(b,
                     "%sThat is memory on the chip, a few hundred KiB, and says nothing of how "
                     "full the GPU is: the kernel's block "
                     "sizes or num_stages are made for a larger one.",
                     b->n != 0 ? " " : "");
    }
    if (mt_logs_have(logs, MT_LOG_ILLEGAL)) {
        mt_words_add(t, "; a kernel read or wrote where it may not (illegal memory access), which "
                        "is a mistake in a program and no want of memory");
        mt_words_add(
            b,
            "%sAn engine whose version does not fit is the usual reason: check the version of "
            "vLLM or whichever runs here, and that PyTorch, CUDA and the framework belong "
            "to it. CUDA_LAUNCH_BLOCKING=1 makes the traceback name the call.",
            b->n != 0 ? " " : "");
    }
    mt_logdiag_say_usage(b, logs);
    mt_words_add(t, ".");
}

bool mt_logdiag_say(struct mt_logdiag *d, const struct mt_logs *logs)
{
    struct mt_sentence s = {.n = 0}, b = {.n = 0};
    const struct mt_log_fact *f;
    if (d->cause == MT_CAUSE_NONE) {
        say_no_failure(&s, &b, logs);
        return keep(&d->sentence, &s) && keep(&d->because, &b);
    }
    f = &logs->files.p[d->file].log.facts.p[d->fact];
    if (f->kind == MT_LOG_TORCH_OOM)
        say_torch(&s, d, f);
    else
        say_other(&s, d, f);
    mt_logdiag_because(&b, d, f);
    mt_words_add(&s, ".");
    say_context(&b, d, logs, f);
    return keep(&d->sentence, &s) && keep(&d->because, &b);
}
