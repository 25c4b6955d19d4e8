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

/* ", in the actor's update (backward),"; ", in vLLM," where no more is known */
static void where(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->phase != MT_PH_UNATTRIBUTED || (d->sub != MT_PH_NONE && d->sub != MT_PH_UNATTRIBUTED))
        mt_words_add(t, ", in %s,", MT_PHASE_WORDS(d->phase, d->sub));
    else if (d->engine != NULL && d->engine_failed)
        mt_words_add(t, ", in %s,", d->engine);
}

/* "PyTorch held 70.30 GiB (12.00 GiB of it reserved but unallocated), this process outside
 * PyTorch 1.10 GiB, other processes 5.00 GiB" */
static void holders(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    char b[32];
    const char *sep = ": ";
    if (d->reserved != MT_LOG_NONE || d->allocated != MT_LOG_NONE) {
        mt_words_add(t, "%sPyTorch held %s", sep, mt_words_bytes(b, mt_logdiag_torch(d)));
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
    if (d->outside != MT_LOG_NONE && !d->own_guessed) {
        mt_words_add(t, "%sthis process outside PyTorch %s", sep, mt_words_bytes(b, d->outside));
        sep = ", ";
    }
    if (d->others != MT_LOG_NONE &&
        (d->others_named ? d->n_others != 0 : d->others > MT_LOG_ROUNDED)) {
        mt_words_add(t, "%s%s %s%s", sep,
                     d->others_named ? "other processes" : "other processes and the driver",
                     d->own_guessed ? "about " : "", mt_words_bytes(b, d->others));
        sep = ", ";
    }
    if (d->unnamed != MT_LOG_NONE && d->unnamed > (UINT64_C(1) << 30)) {
        mt_words_add(t, "%s%s of the card in no process that is named", sep,
                     mt_words_bytes(b, d->unnamed));
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

/* " in log-probs", where the failure's line has no room for more. */
static void during(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->phase != MT_PH_UNATTRIBUTED && d->begun == 0)
        mt_words_add(t, " in %s", MT_PHASE_WORDS(d->phase, d->sub));
}

/* Words about the failure, and a traceback of it that lacks the error's own line. */
static void say_talk_traced(struct mt_sentence *t, const struct mt_logdiag *d,
                            const struct mt_log_fact *f)
{
    mt_words_add(t, "Line %llu says in words that it ran out of memory, and the traceback ends",
                 (unsigned long long)f->line);
    if (d->phase != MT_PH_UNATTRIBUTED || d->sub != MT_PH_NONE)
        mt_words_add(t, " in %s,", MT_PHASE_WORDS(d->phase, d->sub));
    mt_words_add(t, " at %s; the error's own line is not in the text", d->site);
}

/* ": 4.50 GiB were asked for, 812.0 MiB of 79.15 GiB were free, PyTorch held 76.30 GiB" */
static void say_amounts(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const char *sep = ": ";
    char a[32], b[32];
    if (!d->by_words)
        return;
    if (d->request != MT_LOG_NONE) {
        mt_words_add(t, "%s%s were asked for", sep, mt_words_bytes(a, d->request));
        sep = ", ";
    }
    if (d->free != MT_LOG_NONE || d->used != MT_LOG_NONE) {
        mt_words_add(t, "%s%s", sep, mt_words_bytes(a, d->free != MT_LOG_NONE ? d->free : d->used));
        if (d->capacity != MT_LOG_NONE)
            mt_words_add(t, " of %s", mt_words_bytes(b, d->capacity));
        mt_words_add(t, " were %s", d->free != MT_LOG_NONE ? "free" : "in use");
        sep = ", ";
    }
    if (d->free != MT_LOG_NONE && d->used != MT_LOG_NONE)
        mt_words_add(t, " and %s in use", mt_words_bytes(a, d->used));
    if (d->reserved == MT_LOG_NONE)
        return;
    mt_words_add(t, "%sPyTorch held %s", sep, mt_words_bytes(a, d->reserved));
    if (d->capacity != MT_LOG_NONE && d->free == MT_LOG_NONE && d->used == MT_LOG_NONE)
        mt_words_add(t, " of %s", mt_words_bytes(b, d->capacity));
}

static void say_talk(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    if (f->stack != 0 && d->site != NULL) {
        say_talk_traced(t, d, f);
        return;
    }
    if (f->platform == MT_LOG_GROWS) {
        mt_words_add(t,
                     "The text tells of no failure: line %llu says in words that %smemory keeps "
                     "growing",
                     (unsigned long long)f->line, f->kind == MT_LOG_HOST_OOM ? "the host's " : "");
        during(t, d);
        return;
    }
    if (f->platform == 'R') {
        mt_words_add(t,
                     "The text has no failure's own line: line %llu names an OOM of Ray, whose "
                     "monitor ends processes when the host's memory, not the GPU's, is nearly full",
                     (unsigned long long)f->line);
        during(t, d);
        return;
    }
    mt_words_add(t, "The text has no failure's own line: line %llu says in words that %s ran out%s",
                 (unsigned long long)f->line,
                 f->kind == MT_LOG_HOST_OOM ? "the host's memory, not the GPU's," : "it",
                 f->kind == MT_LOG_HOST_OOM ? "" : " of memory");
    during(t, d);
    say_amounts(t, d);
}

static void say_torch(struct mt_sentence *t, const struct mt_logdiag *d,
                      const struct mt_log_fact *f)
{
    char words[MT_FACT_WORDS], a[32], b[32], c[32];
    if (mt_log_is_talk(f)) {
        say_talk(t, d, f);
        return;
    }
    subject(t, f);
    where(t, d);
    if (d->request == MT_LOG_NONE || d->by_words) {
        mt_words_add(t, " ran out of memory");
        if (d->site != NULL)
            mt_words_add(t, " at %s", d->site);
        if (d->by_words)
            say_amounts(t, d);
        else
            mt_words_add(t, ": %s", mt_log_fact_words(words, f));
        return;
    }
    mt_words_add(t, " asked for %s%s", d->request == MT_LOG_EXA ? "more than " : "",
                 mt_words_bytes(a, mt_log_or_zero(d->request)));
    if (d->free == MT_LOG_NONE && d->capacity != MT_LOG_NONE)
        mt_words_add(t, " on a card of %s", mt_words_bytes(c, d->capacity));
    if (d->site != NULL)
        mt_words_add(t, " at %s", d->site);
    if (d->free != MT_LOG_NONE && d->capacity != MT_LOG_NONE)
        mt_words_add(t, "%s and %s of %s were free", d->site != NULL ? "," : "",
                     mt_words_bytes(b, d->free), mt_words_bytes(c, d->capacity));
    holders(t, d, f);
}

static void say_other(struct mt_sentence *t, const struct mt_logdiag *d,
                      const struct mt_log_fact *f)
{
    char words[MT_FACT_WORDS], a[32];
    mt_log_fact_words(words, f);
    if (mt_log_is_talk(f)) {
        say_talk(t, d, f);
    } else if (f->kind == MT_LOG_KILLED && strcmp(f->text, "loader") == 0) {
        mt_words_add(t, "A worker of PyTorch's data loader died");
        during(t, d);
        mt_words_add(t,
                     ", and its line does not say why: the usual reason is host memory, also the "
                     "limit of a container (`dmesg -T` shows it)");
    } else if (f->kind == MT_LOG_KILLED && strcmp(f->text, "launcher") == 0) {
        mt_words_add(t, "The launcher ended the job because one of its processes had died");
        during(t, d);
        mt_words_add(t, ", and the line that says how is not in the text: without a traceback the "
                        "usual reason is host memory (exit code -9; `dmesg -T` shows it)");
    } else if (f->kind == MT_LOG_KILLED && f->text[0] != '\0') {
        mt_logdiag_say_dead(t, f);
        if (!d->never_ran)
            during(t, d);
        mt_words_add(t, d->never_ran ? " before its actor ran%s" : "%s", mt_logdiag_dead_why(f));
    } else if (f->kind == MT_LOG_KILLED) {
        mt_words_add(t, "A process");
        if (f->pid >= 0)
            mt_words_add(t, " (pid %lld)", (long long)f->pid);
        mt_words_add(t, " was killed by a signal");
        during(t, d);
        mt_words_add(t, ", and its line does not say why: the usual reason is host memory (`dmesg "
                        "-T` shows it)");
    } else if (f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL ||
               (f->kind == MT_LOG_HOST_OOM && f->text[0] != 'l')) {
        mt_words_add(t, "The host ran out of %smemory",
                     f->kind == MT_LOG_HOST_OOM && f->text[0] == 's' ? "shared " : "");
        if (d->step != 0 || d->said != 0 || d->by_name != NULL)
            during(t, d);
        mt_words_add(t, ", not the GPU: %s", words);
        if (f->stack != 0 && d->site != NULL && f->value[0] != MT_LOG_NONE)
            mt_words_add(t, " at %s", d->site);
    } else {
        subject(t, f);
        if (f->stack != 0 || d->begun != 0)
            where(t, d);
        if (f->kind == MT_LOG_COUNTERS) {
            mt_words_add(t, " ran out of memory, %llu time%s by PyTorch's own count",
                         (unsigned long long)f->value[MT_LC_OOMS],
                         f->value[MT_LC_OOMS] == 1 ? "" : "s");
            holders(t, d, f);
        } else if (f->kind == MT_LOG_VLLM_STARTUP) {
            mt_words_add(t, " could not start vLLM: it wants %s, ",
                         mt_words_bytes(a, mt_log_or_zero(f->value[3])));
            mt_words_add(t, "%s of ", mt_words_bytes(a, mt_log_or_zero(f->value[0])));
            mt_words_add(t, "%s were free", mt_words_bytes(a, mt_log_or_zero(f->value[1])));
        } else {
            mt_words_add(t, " failed: %s", words);
        }
    }
}

/* How many tokens were asked for at once, and what does not act on them. */
static void say_logits(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->request == MT_LOG_NONE || d->request == MT_LOG_EXA || !(d->in_float || d->vocab > 0))
        return;
    if (d->vocab > 0)
        mt_words_add(t,
                     "%sWith a vocabulary of %.0f and 4 bytes a number the request is about %.0f "
                     "tokens at once.",
                     t->n != 0 ? " " : "", d->vocab, (double)d->request / (4 * d->vocab));
    if (d->in_float)
        mt_words_add(t,
                     "%sIt is the copy of all logits in 32 bits: fewer tokens in one pass make it "
                     "smaller, a loss or log-probabilities in chunks come after it.",
                     t->n != 0 ? " " : "");
}

/* What does not fit before anything runs is no matter of batches. */
static void say_set_up(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->cause != MT_CAUSE_CAPACITY || mt_logdiag_full_before(d))
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
                     "%s%s this process builds or loads does not fit. Shard it over more "
                     "processes, build it on the meta device or load it on the CPU, so that no "
                     "process holds the whole.",
                     t->n != 0 ? " " : "", d->said != 0 ? "What" : "Nothing ran yet: what");
}

/* More than the process has of the card: unmapped behind PyTorch's back. */
static void say_unmapped(struct mt_sentence *t, const struct mt_logdiag *d)
{
    char a[32], b[32];
    if (!mt_logdiag_unmapped(d))
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
        mt_words_add(
            t,
            "%sFSDP was gathering the whole state dict on the GPU, which the host can hold, "
            "or which need not be whole.",
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

/* The lines that prove the phase, and what was left of the card then. */
static void say_begun(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log *log)
{
    const struct mt_log_fact *g = d->begun != 0 ? &log->facts.p[d->begun - 1] : NULL;
    if (g == NULL)
        return;
    mt_words_add(t, "%sIt had begun to %s in line %llu", t->n != 0 ? " " : "",
                 g->text[0] == 'l'   ? "load"
                 : g->text[0] == 's' ? "save a checkpoint"
                                     : "capture CUDA graphs",
                 (unsigned long long)g->line);
    if (g->value[0] != MT_LOG_NONE)
        mt_words_add(t, ", with %s free", MT_BYTES(g->value[0]));
    if (g->value[1] != MT_LOG_NONE && g->value[2] != MT_LOG_NONE)
        mt_words_add(t, "; %s were left at a batch of %llu", MT_BYTES(g->value[1]),
                     (unsigned long long)g->value[2]);
    mt_words_add(t, ", and no line says that it ended.");
}

/* An engine's own measurement that cannot be, before it found no room. */
static void say_mismeasured(struct mt_sentence *t, const struct mt_logdiag *d,
                            const struct mt_log *log)
{
    if (d->cause != MT_CAUSE_ENGINE_SHARE && d->cause != MT_CAUSE_UNTOLD)
        return;
    for (uint32_t i = d->fact + 1; i-- > 0;) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind != MT_LOG_VLLM_PROFILE || f->value[0] != 0)
            continue;
        mt_words_add(t,
                     "%sWeights of nothing (line %llu) cannot be: the engine measured wrongly, "
                     "because others took or gave back memory meanwhile.",
                     t->n != 0 ? " " : "", (unsigned long long)f->line);
        return;
    }
}

/* An engine that has more than its share by its own sum, before something failed in it. */
static void say_over_share(struct mt_sentence *t, const struct mt_logdiag *d,
                           const struct mt_log *log)
{
    for (uint32_t i = d->fact; i-- > 0;) {
        const struct mt_log_fact *f = &log->facts.p[i];
        uint64_t sum = 0;
        char a[32], b[32];
        if (f->kind != MT_LOG_VLLM_PROFILE || f->value[5] == MT_LOG_NONE)
            continue;
        for (int k = 0; k < 5; k++)
            sum += mt_log_or_zero(f->value[k]);
        if (sum > f->value[5] + MT_LOG_ROUNDED)
            mt_words_add(t,
                         "%sBy its own numbers (line %llu) the engine has %s for weights, "
                         "activations, graphs and cache, and its share allows %s: the cache was "
                         "made larger than what was left.",
                         t->n != 0 ? " " : "", (unsigned long long)f->line, mt_words_bytes(a, sum),
                         mt_words_bytes(b, f->value[5]));
        return;
    }
}

/* The driver refused for another reason: it says so in a line of its own. */
static void say_pool_error(struct mt_sentence *t, const struct mt_logdiag *d,
                           const struct mt_log *log)
{
    if (d->cause != MT_CAUSE_LIMIT && d->cause != MT_CAUSE_UNKNOWN)
        return;
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind != MT_LOG_POOL_ERROR)
            continue;
        mt_words_add(t,
                     "%sLine %llu has the reason: the driver said \"%s\" to vLLM's sleep-mode "
                     "allocator (cumem_allocator.cpp). That is a mistake in mapping, no lack of "
                     "memory: another version of vLLM, or its sleep mode off "
                     "(enable_sleep_mode=False).",
                     t->n != 0 ? " " : "", (unsigned long long)f->line, f->text);
        return;
    }
}

/* An engine that wakes maps again what it gave back. */
static void say_wake(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log *log)
{
    if (d->phase != MT_PH_ROLLOUT_WAKE_SLEEP)
        return;
    for (uint32_t i = d->fact; i-- > 0;) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind != MT_LOG_SLEEP || f->value[0] == MT_LOG_NONE)
            continue;
        mt_words_add(t,
                     "%sTo wake it maps the %s again that it gave back when it went to sleep (line "
                     "%llu).",
                     t->n != 0 ? " " : "", MT_BYTES(f->value[0]), (unsigned long long)f->line);
        return;
    }
}

static void say_context(struct mt_sentence *t, const struct mt_logdiag *d,
                        const struct mt_logs *logs, const struct mt_log_fact *f)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    const struct mt_log_fact *mark = mt_logdiag_mark(log, d->fact);
    if (mark != NULL)
        mt_words_add(t, "%sThe last memory line before it, line %llu, says \"%s\".",
                     t->n != 0 ? " " : "", (unsigned long long)mark->line, mark->text);
    say_begun(t, d, log);
    if (log->newest_first && (mark != NULL || d->begun != 0))
        mt_words_add(t, "%sBy its time stamps this log has its newest line first.",
                     t->n != 0 ? " " : "");
    if (f->stack != 0 && log->stacks.p[f->stack - 1].is_mates && d->step == 0 && d->begun == 0 &&
        d->phase != MT_PH_UNATTRIBUTED)
        mt_words_add(t,
                     "%sThe traceback is of the driver or of another rank: it tells the phase, not "
                     "what asked.",
                     t->n != 0 ? " " : "");
    if (d->said != 0)
        mt_words_add(t,
                     d->said_job ? "%sThat it does so line %llu says, not that it failed there."
                                 : "%sThe phase is what line %llu says.",
                     t->n != 0 ? " " : "", (unsigned long long)d->said);
    if (d->step != 0)
        mt_words_add(t,
                     "%sNo traceback tells what ran: line %llu, the last one in which the job says "
                     "what it is at, is of %s.",
                     t->n != 0 ? " " : "", (unsigned long long)d->step,
                     MT_PHASE_WORDS(d->phase, MT_PH_NONE));
    else if (d->by_name != NULL && f->stack == 0)
        mt_words_add(t,
                     "%sNo traceback tells what ran: the phase is read from the name of %s, and "
                     "may be another.",
                     t->n != 0 ? " " : "", d->by_name);
    else if (d->by_name != NULL)
        mt_words_add(t,
                     "%sNo frame of the traceback tells it by itself: the phase is read from the "
                     "name of %s, and may be another.",
                     t->n != 0 ? " " : "", d->by_name);
    else if (d->cut && (f->stack == 0 || !log->stacks.p[f->stack - 1].headed))
        mt_words_add(t, "%sThe traceback is cut: the phase is read from what is left of it.",
                     t->n != 0 ? " " : "");
    mt_logdiag_say_told(t, d, log, logs->phases);
    say_logits(t, d);
    mt_logdiag_say_made_of(t, d);
    say_set_up(t, d);
    say_mismeasured(t, d, log);
    say_over_share(t, d, log);
    say_pool_error(t, d, log);
    say_wake(t, d, log);
    say_unmapped(t, d);
    say_gather(t, log, f);
    say_host(t, d, log);
    if ((d->cause == MT_CAUSE_HOST || d->cause == MT_CAUSE_KILLED) && mt_logdiag_say_heaps(t, logs))
        mt_words_add(t, " %s", mt_logdiag_heaps_lack);
    mt_logdiag_say_hints(t, d, log);
    mt_logdiag_say_table(t, log, f);
    say_margin(t, d, log);
    mt_logdiag_say_cards(t, d, logs);
    say_other_memory(t, d, logs);
    say_other_job(t, d, logs);
    if (d->n_distinct > 1)
        mt_words_add(t, "%sThe log holds %llu failures; this is the first%s.", t->n != 0 ? " " : "",
                     (unsigned long long)d->n_distinct,
                     d->traced        ? " that has its traceback"
                     : d->passed_over ? " of PyTorch"
                                      : "");
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
    if (d->cause == MT_CAUSE_NONE) {
        d->tells = mt_logs_have(logs, MT_LOG_CARD) || mt_logs_have(logs, MT_LOG_CARD_PROC) ||
                   mt_logs_have(logs, MT_LOG_COUNTERS) || mt_logs_have(logs, MT_LOG_NPU_PART) ||
                   mt_logs_have(logs, MT_LOG_NPU_RECORD) || mt_logs_have(logs, MT_LOG_HEAP);
        mt_logdiag_say_no_failure(&s, &b, d, logs);
        return keep(&d->sentence, &s) && keep(&d->because, &b);
    }
    f = &logs->files.p[d->file].log.facts.p[d->fact];
    if (f->kind == MT_LOG_TORCH_OOM)
        say_torch(&s, d, f);
    else if (f->kind == MT_LOG_CUT)
        mt_logdiag_say_cut(&s, d, f);
    else
        say_other(&s, d, f);
    mt_logdiag_because(&b, d, f);
    mt_words_add(&s, ".");
    say_context(&b, d, logs, f);
    return keep(&d->sentence, &s) && keep(&d->because, &b);
}
