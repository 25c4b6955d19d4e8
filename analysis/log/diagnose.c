/* log/diagnose.c -- from the facts of logs to a cause with its numbers. */
#include "analysis/log/diagnose.h"
#include "analysis/advice/advice.h"
#include "analysis/base/frames.h"
#include "analysis/base/words.h"
#include "analysis/phases/phases.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

static bool writes(const struct mt_log *log, uint64_t pid)
{
    for (uint32_t i = 0; i < log->facts.n; i++)
        if (log->facts.p[i].pid >= 0 && (uint64_t)log->facts.p[i].pid == pid)
            return true;
    return false;
}

/* Processes named with the sentence. Where this process is not named and one of them is as large as
 * what PyTorch holds, that one is this process: in a container the driver's process ids are not the
 * process's own. */
static void sum_others(struct mt_logdiag *d, const struct mt_log *log)
{
    uint32_t own = UINT32_MAX, largest = UINT32_MAX, newest = UINT32_MAX, n_may_be = 0;
    uint64_t used = mt_log_minus(d->capacity, d->free), line = log->facts.p[d->fact].line,
             held = d->reserved != MT_LOG_NONE ? d->reserved : d->allocated;
    for (uint32_t k = d->fact + 1; k < log->facts.n && log->facts.p[k].kind == MT_LOG_OTHER_PROC &&
                                   log->facts.p[k].line == line;
         k++) {
        uint64_t v = log->facts.p[k].value[1];
        if (v == MT_LOG_NONE || v > d->capacity) /* Windows' driver gives no number */
            continue;
        if (held != MT_LOG_NONE && v + MT_LOG_ROUNDED >= held && v < held + MT_OWN_CONTEXT)
            n_may_be++;
        if (d->this_process == MT_LOG_NONE && held != MT_LOG_NONE && v + MT_LOG_ROUNDED >= held &&
            (own == UINT32_MAX || v < log->facts.p[own].value[1]))
            own = k;
        if (log->facts.p[k].pid != (int64_t)log->facts.p[k].value[0] &&
            writes(log, log->facts.p[k].value[0]))
            d->mate = (int64_t)log->facts.p[k].value[0];
        if (largest == UINT32_MAX || v > log->facts.p[largest].value[1])
            largest = k;
        if (newest == UINT32_MAX || log->facts.p[k].value[0] > log->facts.p[newest].value[0])
            newest = k;
        d->others = mt_log_or_zero(d->others) + v;
        d->n_others++;
    }
    /* Together they hold more than is in use: this process is among them, and PyTorch counts what
     * an engine that sleeps has unmapped. */
    if (own == UINT32_MAX && d->this_process == MT_LOG_NONE && held != MT_LOG_NONE &&
        used != MT_LOG_NONE && d->n_others != 0 && d->others + held > used + MT_LOG_ROUNDED) {
        if (held <= d->capacity || d->n_others == 1)
            own = largest;
        else
            d->others = MT_LOG_NONE; /* any of them may be this one */
    }
    /* Where the line names several and no number of PyTorch's, whoever asked is one of them: the
     * one that was started last is the likeliest. */
    if (own == UINT32_MAX && d->this_process == MT_LOG_NONE && held == MT_LOG_NONE &&
        d->n_others > 1)
        own = newest;
    /* The one that is named has all that is in use: nothing is left for another one's context. */
    if (own == UINT32_MAX && d->this_process == MT_LOG_NONE && held == MT_LOG_NONE &&
        d->n_others == 1 && used != MT_LOG_NONE && d->others + MT_LOG_ROUNDED >= used)
        own = largest;
    d->others_named = d->n_others != 0;
    d->own_guessed = own != UINT32_MAX && n_may_be > 1;
    if (own != UINT32_MAX) {
        d->this_process = log->facts.p[own].value[1];
        d->others -= d->this_process;
        d->n_others--;
    }
}

/* The process writes into the log under another name than the failed one: an engine's worker beside
 * a trainer's. */
static bool has_other_name(const struct mt_log *log, const char *who, uint64_t pid)
{
    for (uint32_t i = 0; i < log->facts.n && who[0] != '\0'; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->pid >= 0 && (uint64_t)f->pid == pid && f->who[0] != '\0' && strcmp(f->who, who) != 0)
            return true;
    }
    return false;
}

/* Much is a GiB: contexts alone are all of one size. */
static void count_alike(struct mt_logdiag *d, const struct mt_log *log)
{
    const char *who = log->facts.p[d->fact].who;
    const uint64_t much = UINT64_C(1) << 30, own = d->this_process;
    uint64_t line = log->facts.p[d->fact].line;
    uint32_t n = 0;
    for (uint32_t k = d->fact + 1; k < log->facts.n && log->facts.p[k].kind == MT_LOG_OTHER_PROC &&
                                   log->facts.p[k].line == line;
         k++) {
        uint64_t v = log->facts.p[k].value[1];
        n += own != MT_LOG_NONE && v != MT_LOG_NONE && v <= d->capacity && v >= much &&
             own >= much && v >= own - own / 16 && own >= v - v / 16 &&
             !has_other_name(log, who, log->facts.p[k].value[0]);
    }
    if (n != 0 && log->facts.p[d->fact].value[MT_LO_THIS] == MT_LOG_NONE)
        n--;                                        /* this one, which was chosen among them */
    d->n_alike = n < d->n_others ? n : d->n_others; /* one of them may be this one */
}

static void take_numbers(struct mt_logdiag *d, const struct mt_log *log,
                         const struct mt_log_fact *f)
{
    const uint64_t *v = f->value;
    d->request = v[MT_LO_REQUEST];
    d->capacity = v[MT_LO_CAPACITY];
    d->free = v[MT_LO_FREE];
    d->allocated = v[MT_LO_ALLOCATED];
    d->reserved = v[MT_LO_RESERVED];
    d->unallocated = v[MT_LO_UNALLOCATED];
    d->private_pools = v[MT_LO_PRIVATE];
    d->allowed = v[MT_LO_ALLOWED];
    d->this_process =
        mt_log_minus(d->capacity, v[MT_LO_THIS]) != MT_LOG_NONE || d->capacity == MT_LOG_NONE
            ? v[MT_LO_THIS]
            : MT_LOG_NONE; /* Windows' driver gives no number */
    sum_others(d, log);
    count_alike(d, log);
    d->outside = mt_log_minus(d->this_process, d->reserved);
    if (d->others_named && d->others != MT_LOG_NONE)
        d->unnamed = mt_log_minus(mt_log_minus(mt_log_minus(d->capacity, d->free), d->this_process),
                                  d->others);
    if (!d->others_named && d->this_process != MT_LOG_NONE)
        d->others = mt_log_minus(mt_log_minus(d->capacity, d->free), d->this_process);
}

/* No line of a program has a number: those of a person's words, where they tell some. What is asked
 * for and what was free settle that the card was full; who held it, words do not settle. */
static void take_words(struct mt_logdiag *d, const struct mt_log *log)
{
    struct mt_logdiag_amounts a;
    d->by_words = d->request == MT_LOG_NONE && mt_logdiag_amounts(&a, log);
    if (!d->by_words)
        return;
    d->request = a.request;
    d->free = a.free;
    d->capacity = a.total;
    d->reserved = a.torch;
    d->used = a.used;
    d->is_rounded = !a.exact;
    d->cause =
        a.request != MT_LOG_NONE && a.free != MT_LOG_NONE ? MT_CAUSE_CAPACITY : MT_CAUSE_UNKNOWN;
    d->confidence = "low";
}

/* The error's line has no more than the request, cut there or printed so by the program: the other
 * amounts stand beside it in other words. */
static void add_words(struct mt_logdiag *d, const struct mt_log *log)
{
    struct mt_logdiag_amounts a;
    if (d->by_words || d->request == MT_LOG_NONE || d->request == MT_LOG_EXA ||
        d->capacity != MT_LOG_NONE || d->free != MT_LOG_NONE || d->reserved != MT_LOG_NONE ||
        d->allocated != MT_LOG_NONE || !mt_logdiag_amounts(&a, log) ||
        (a.request != MT_LOG_NONE &&
         (a.request > d->request + d->request / 50 || a.request < d->request - d->request / 50)))
        return;
    d->capacity = a.total;
    d->reserved = a.torch;
    d->used = a.used;
    if (a.free != MT_LOG_NONE && a.free < d->request)
        d->free = a.free;
    d->rest_by_words = d->free != MT_LOG_NONE || d->reserved != MT_LOG_NONE;
    if (d->free == MT_LOG_NONE)
        return;
    d->cause = MT_CAUSE_CAPACITY;
    d->confidence = "low";
}

static void clear_numbers(struct mt_logdiag *d)
{
    d->used = MT_LOG_NONE;
    d->request = d->capacity = d->free = d->allocated = d->reserved = d->unallocated =
        d->private_pools = MT_LOG_NONE;
    d->allowed = d->this_process = d->outside = d->others = d->unnamed = MT_LOG_NONE;
}

/* ---- cause ---- */

/* Of the card, what is not this process's: where the sentence has its size, what others hold; else
 * all that is neither free nor PyTorch's, for a container shows all processes as one. */
static uint64_t held_elsewhere(const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    uint64_t held = d->reserved != MT_LOG_NONE ? d->reserved : d->allocated;
    uint64_t rest = mt_log_minus(mt_log_minus(d->capacity, d->free), held);
    return f->value[MT_LO_THIS] != MT_LOG_NONE
               ? mt_log_or_zero(d->others) + mt_log_or_zero(d->unnamed)
               : mt_log_or_zero(rest);
}

/* Of what is held elsewhere, what a process brings itself, its context and its libraries,
 * where the sentence does not count it, and a desktop. On a small card that is a quarter
 * of it, and nobody else is there. Processes that are named are somebody. */
static uint64_t not_foreign(const struct mt_logdiag *d)
{
    const uint64_t desktop = UINT64_C(400) << 20;
    if (d->others_named && d->n_others != 0)
        return 0;
    return d->this_process != MT_LOG_NONE ? desktop : MT_OWN_CONTEXT + desktop;
}

/* Without a figure of what is free: PyTorch holds so much of the card that the rest is less than
 * the request. */
static bool no_room(const struct mt_logdiag *d)
{
    uint64_t rest = mt_log_minus(d->capacity, d->reserved);
    return d->request != MT_LOG_NONE && d->request != MT_LOG_EXA && d->capacity != MT_LOG_NONE &&
           d->reserved != MT_LOG_NONE && (rest == MT_LOG_NONE || rest < d->request) &&
           (d->unallocated == MT_LOG_NONE || d->unallocated < d->request);
}

/* Intel's driver: a block that is too large by itself, where the card has room as far as the
 * sentence tells. */
static bool too_large_a_block(const struct mt_logdiag *d)
{
    uint64_t room = d->free != MT_LOG_NONE ? d->free : mt_log_minus(d->capacity, d->reserved);
    return d->request != MT_LOG_NONE && d->request != MT_LOG_EXA &&
           d->request >= MT_LOG_LARGE_BLOCK && room != MT_LOG_NONE && room >= d->request;
}

/* Unallocated bytes that packed better would have let the job go on: enough for the request, and a
 * tenth of what is reserved, as for a snapshot, or GiBs of which not one piece had a sixteenth.
 * Less is the margin of any full card, which may just be enough. */
static bool is_fragmented(const struct mt_logdiag *d)
{
    const uint64_t gib = UINT64_C(1) << 30;
    uint64_t cached = mt_logdiag_cached(d);
    return mt_logdiag_has_holes(d) && !mt_logdiag_more_to_come(d) &&
           (cached >= d->reserved / 10 || (cached >= 2 * gib && cached / 16 >= d->request));
}

static void torch_cause(struct mt_logdiag *d, const struct mt_log_fact *f)
{
    uint64_t free = mt_log_or_zero(d->free), cached = mt_logdiag_cached(d),
             others = mt_log_or_zero(d->others);
    uint64_t own = not_foreign(d), held = held_elsewhere(d, f),
             elsewhere = held > own ? held - own : 0,
             lacks = d->request != MT_LOG_NONE && d->request > free ? d->request - free : 0;
    d->cause = MT_CAUSE_CAPACITY;
    d->confidence = d->unallocated != MT_LOG_NONE ? "high" : "medium";
    if (f->value[MT_LO_ALLOWED] != MT_LOG_NONE && strcmp(f->text, "block") == 0) {
        d->cause = MT_CAUSE_LIMIT;
        d->confidence = "high";
    } else if (mt_logdiag_overcounts(d) && d->this_process == MT_LOG_NONE) {
        d->confidence = d->is_spilled || d->is_asleep ? "medium" : "low";
    } else if (f->platform == 'X' && too_large_a_block(d)) {
        d->cause = MT_CAUSE_LIMIT;
        d->confidence = "medium";
    } else if (d->request != MT_LOG_NONE && d->request != MT_LOG_EXA &&
               d->capacity != MT_LOG_NONE && d->request > d->capacity) {
        d->cause = MT_CAUSE_REQUEST;
    } else if (d->free == MT_LOG_NONE && no_room(d)) {
        d->confidence = "medium";
    } else if (d->request == MT_LOG_NONE || d->free == MT_LOG_NONE || d->request == MT_LOG_EXA) {
        d->cause = MT_CAUSE_UNKNOWN;
        d->confidence = "low";
    } else if (mt_logdiag_had_much(d) || (d->allowed != MT_LOG_NONE && mt_logdiag_had_room(d))) {
        d->cause = MT_CAUSE_LIMIT;
        d->confidence = d->allowed != MT_LOG_NONE ? "high" : "low";
    } else if (elsewhere >= d->capacity / 4 && elsewhere > 2 * cached && elsewhere > lacks) {
        /* Others hold a quarter of the card, twice what the cache could have given back, and more
         * than was lacking. Chosen by hand on public tickets. Of 799 reports on logs half of the
         * card changes 3, a third 1, an eighth none, a sixteenth 3; a factor of 1 instead of 2
         * none. */
        d->cause = MT_CAUSE_FOREIGN;
        d->confidence = d->others_named && others >= elsewhere / 2 ? "medium" : "low";
    } else if (mt_logdiag_own_outside(d) >= d->capacity / 4 &&
               mt_logdiag_own_outside(d) > 2 * cached) {
        d->cause = MT_CAUSE_OUTSIDE; /* by the same measure */
        d->confidence = "medium";
    } else if (is_fragmented(d)) {
        d->cause = MT_CAUSE_FRAGMENTATION;
        /* Bytes of private pools serve nobody else; the sentence does not say how much of the rest
         * lies in them. */
        d->confidence =
            cached / 2 >= d->request && mt_log_or_zero(d->private_pools) == 0 ? "high" : "medium";
    } else if (others > lacks + own && d->capacity != MT_LOG_NONE &&
               others - own >= d->capacity / 10) {
        d->cause = MT_CAUSE_FOREIGN;
        d->confidence = d->others_named ? "medium" : "low"; /* they may be of the same job */
    } else if (mt_logdiag_had_room(d) || mt_logdiag_fits_joined(d)) {
        d->confidence = "medium"; /* in one piece they would just have sufficed */
    }
}

const char *mt_logdiag_headline(const struct mt_logdiag *d)
{
    return d->grows       ? "Memory keeps growing"
           : d->is_untold ? "Out of memory: much of the card is not this PyTorch's"
                          : mt_cause_log_words(d->cause);
}

static void find_cause(struct mt_logdiag *d, const struct mt_logs *logs,
                       const struct mt_log_fact *f, const struct mt_log_place *place)
{
    d->confidence = "high";
    d->grows = f->platform == MT_LOG_GROWS;
    d->no_expandable = mt_logs_no_expandable(logs);
    switch ((int)f->kind) {
    case MT_LOG_TORCH_OOM:
        take_numbers(d, &logs->files.p[d->file].log, f);
        mt_logdiag_tell_overcount(d, logs, f, place);
        torch_cause(d, f);
        take_words(d, &logs->files.p[d->file].log);
        add_words(d, &logs->files.p[d->file].log);
        if (f->platform == MT_LOG_GROWS)
            d->cause = MT_CAUSE_LEAK;
        d->is_untold =
            d->cause == MT_CAUSE_FOREIGN && d->this_process == MT_LOG_NONE && !d->others_named;
        break;
    case MT_LOG_NCCL_OOM:
    case MT_LOG_CUMEM_OOM:
    case MT_LOG_SAVER_OOM:
    case MT_LOG_NPU_OOM:
    case MT_LOG_CUBLAS_OOM:
        d->cause = MT_CAUSE_OUTSIDE;
        d->confidence = "medium";
        if (f->kind == MT_LOG_NCCL_OOM || f->kind == MT_LOG_NPU_OOM)
            d->request = f->value[0];
        break;
    case MT_LOG_VLLM_STARTUP:
        d->cause = MT_CAUSE_ENGINE_SHARE;
        d->free = f->value[0];
        d->capacity = f->value[1];
        d->request = f->value[3];
        break;
    case MT_LOG_VLLM_KV:
    case MT_LOG_VLLM_PROFILE:
        d->cause = MT_CAUSE_ENGINE_SHARE;
        d->confidence = "medium";
        break;
    case MT_LOG_VLLM_WARMUP:
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_KV_FULL:
    case MT_LOG_SGLANG_NO_KV: d->cause = MT_CAUSE_ENGINE_SHARE; break;
    case MT_LOG_VLLM_MEASURE: d->cause = MT_CAUSE_FOREIGN; break;
    case MT_LOG_WORKSPACE:
    case MT_LOG_POOL_REFUSED: d->cause = MT_CAUSE_SETTING; break;
    case MT_LOG_RAY_KILL:
    case MT_LOG_KERNEL_KILL:
    case MT_LOG_HOST_OOM:
        d->cause = strcmp(f->text, "locked") == 0 ? MT_CAUSE_SETTING : MT_CAUSE_HOST;
        break;
    case MT_LOG_CUT:
        d->cause = MT_CAUSE_UNTOLD;
        d->confidence = "low";
        break;
    case MT_LOG_KILLED:
        d->cause = MT_CAUSE_KILLED;
        d->confidence = "low";
        break;
    case MT_LOG_COUNTERS:
        d->cause = MT_CAUSE_UNKNOWN;
        d->confidence = "low";
        d->allocated = f->value[MT_LC_ALLOCATED];
        d->reserved = f->value[MT_LC_RESERVED];
        d->unallocated = mt_log_minus(d->reserved, d->allocated);
        break;
    default:
        d->cause = MT_CAUSE_UNKNOWN;
        d->confidence = "low";
        d->request = f->value[0];
        if (strcmp(f->text, "XLA") == 0 && f->value[2] != MT_LOG_NONE) {
            d->free = f->value[1];
            d->capacity = f->value[2];
            d->cause = d->request > d->capacity ? MT_CAUSE_REQUEST : MT_CAUSE_CAPACITY;
            d->confidence = "high";
        }
        if (f->platform == 'T' && f->value[1] != MT_LOG_NONE) { /* by the compiler's own count */
            d->cause = MT_CAUSE_CAPACITY;
            d->confidence = "high";
            if (f->text[3] != '\0') /* or by what there is when it runs */
                d->free = f->value[1];
            else
                d->capacity = f->value[1];
        }
        break;
    }
}

/* The parent's traceback, which people paste as well: it says that a process failed, not where. */
static bool of_launcher(const struct mt_log_stack *s, const struct mt_phase_rules *rules)
{
    return s->frames.n != 0 && mt_phase_is_launcher(rules, s->frames.p[s->frames.n - 1].file);
}

/* Phase, cause and numbers of the line d->fact, and what may be advised on it, into list. false =
 * out of memory. */
static bool diagnose(struct mt_logdiag *d, const struct mt_logs *logs,
                     const struct mt_logdiag_opts *o, struct mt_advice_list *list)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    const struct mt_log_fact *f = &log->facts.p[d->fact];
    struct mt_log_place place, *at = NULL;
    bool ok = true;
    if (f->stack != 0 && !of_launcher(&log->stacks.p[f->stack - 1], o->phases)) {
        ok = mt_logdiag_place(&place, logs->rules, &log->stacks.p[f->stack - 1], o->phases);
        at = ok ? &place : NULL;
    }
    if (at != NULL && at->id != 0 && !at->stack->is_deeper) {
        char label[MT_LABEL], *cut;
        (void)mt_stack_label(at->trace, at->id, label, sizeof label);
        if ((cut = strstr(label, " <cut>")) != NULL)
            *cut = '\0'; /* the frame's name was cut off: log/frames.c */
        d->site = mt_strndup(label, strlen(label));
        ok = d->site != NULL;
    }
    if (ok) {
        mt_logdiag_program(d, log, at != NULL ? at->stack : NULL, o->conf);
        mt_logdiag_phase(d, log, f, at, o->phases);
        d->whose = mt_logdiag_whose(logs, log, f, at);
        if (d->whose == MT_WHOSE_OTHERS && d->phase == MT_PH_UNATTRIBUTED)
            d->phase = MT_PH_INIT;
        mt_logdiag_logits(d, at, o->conf);
        find_cause(d, logs, f, at);
        mt_logdiag_tell_ranks(d, logs, f, o->conf);
        ok = mt_logdiag_advise(list, d, logs, o, f, at);
    }
    if (at != NULL)
        mt_logdiag_place_done(at);
    return ok;
}

/* What helps the other memory, behind what helps the one that the verdict is about. false = out of
 * memory. */
static bool advise_other(const struct mt_logdiag *d, const struct mt_logs *logs,
                         const struct mt_logdiag_opts *o, struct mt_advice_list *list)
{
    struct mt_logdiag other;
    struct mt_advice_list more = {.n = 0};
    bool ok;
    memset(&other, 0, sizeof other);
    clear_numbers(&other);
    other.file = d->other_file;
    other.fact = d->other;
    other.n_failures = 1;
    other.both = true;
    ok = diagnose(&other, logs, o, &more);
    for (uint32_t i = 0; i < more.n; i++)
        more.p[i].is_top = false;
    mt_free(other.site);
    return mt_advice_move(list, &more) && ok;
}

enum mt_rc mt_logdiag_make(struct mt_logdiag **out, const struct mt_logs *logs,
                           const struct mt_logdiag_opts *o, struct mt_advice_list *advice,
                           struct mt_err *err)
{
    struct mt_logdiag *d = mt_calloc(1, sizeof *d);
    bool ok = true;
    *out = NULL;
    if (d == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    d->confidence = "none";
    clear_numbers(d);
    mt_logdiag_choose(d, logs);
    d->kv_short = mt_logs_kv_short(logs);
    d->phase = MT_PH_UNATTRIBUTED;
    d->sub = MT_PH_NONE;
    if (d->n_failures != 0)
        ok = diagnose(d, logs, o, advice);
    else
        ok = mt_logdiag_unfailed(d, logs, o, advice);
    if (ok && d->both)
        ok = advise_other(d, logs, o, advice);
    ok = ok && mt_logdiag_say(d, logs);
    if (!ok) {
        mt_logdiag_free(d);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    *out = d;
    return MT_OK;
}

void mt_logdiag_free(struct mt_logdiag *d)
{
    if (d == NULL)
        return;
    mt_free(d->sentence);
    mt_free(d->because);
    mt_free(d->site);
    mt_free(d);
}
