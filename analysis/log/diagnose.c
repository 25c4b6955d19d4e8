/* log/diagnose.c -- from the facts of logs to a cause with its numbers. */
#include "analysis/log/diagnose.h"
#include "analysis/advice/advice.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

/* Processes named with the sentence. Where this process is not named and one of them is as large as
 * what PyTorch holds, that one is this process: in a container the driver's process ids are not the
 * process's own. */
static void sum_others(struct mt_logdiag *d, const struct mt_log *log)
{
    uint32_t own = UINT32_MAX, largest = UINT32_MAX;
    uint64_t used = mt_log_minus(d->capacity, d->free), line = log->facts.p[d->fact].line,
             held = d->reserved != MT_LOG_NONE ? d->reserved : d->allocated;
    for (uint32_t k = d->fact + 1; k < log->facts.n && log->facts.p[k].kind == MT_LOG_OTHER_PROC &&
                                   log->facts.p[k].line == line;
         k++) {
        uint64_t v = log->facts.p[k].value[1];
        if (v == MT_LOG_NONE)
            continue;
        if (d->this_process == MT_LOG_NONE && held != MT_LOG_NONE && v + MT_LOG_ROUNDED >= held &&
            (own == UINT32_MAX || v < log->facts.p[own].value[1]))
            own = k;
        if (largest == UINT32_MAX || v > log->facts.p[largest].value[1])
            largest = k;
        d->others = mt_log_or_zero(d->others) + v;
        d->n_others++;
    }
    /* Together they hold more than is in use: this process is among them, and PyTorch counts what
     * an engine that sleeps has unmapped. */
    if (own == UINT32_MAX && d->this_process == MT_LOG_NONE && held != MT_LOG_NONE &&
        used != MT_LOG_NONE && d->n_others != 0 && held <= d->capacity &&
        d->others + held > used + MT_LOG_ROUNDED)
        own = largest;
    d->others_named = d->n_others != 0;
    if (own != UINT32_MAX) {
        d->this_process = log->facts.p[own].value[1];
        d->others -= d->this_process;
        d->n_others--;
    }
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
    d->this_process = v[MT_LO_THIS];
    sum_others(d, log);
    d->outside = mt_log_minus(d->this_process, d->reserved);
    if (!d->others_named && d->this_process != MT_LOG_NONE)
        d->others = mt_log_minus(mt_log_minus(d->capacity, d->free), d->this_process);
}

static void clear_numbers(struct mt_logdiag *d)
{
    d->request = d->capacity = d->free = d->allocated = d->reserved = d->unallocated =
        d->private_pools = MT_LOG_NONE;
    d->allowed = d->this_process = d->outside = d->others = MT_LOG_NONE;
}

/* ---- cause ---- */

/* What remains at the ends of segments on any card that is full. */
static bool only_crumbs(const struct mt_logdiag *d)
{
    return d->unallocated != MT_LOG_NONE && d->reserved != MT_LOG_NONE &&
           d->unallocated < d->reserved / 30;
}

/* Of the card, what is not this process's: where the sentence has its size, what others hold; else
 * all that is neither free nor PyTorch's, for a container shows all processes as one. */
static uint64_t held_elsewhere(const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    uint64_t held = d->reserved != MT_LOG_NONE ? d->reserved : d->allocated;
    uint64_t rest = mt_log_minus(mt_log_minus(d->capacity, d->free), held);
    return mt_log_or_zero(f->value[MT_LO_THIS] != MT_LOG_NONE ? d->others : rest);
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

static void torch_cause(struct mt_logdiag *d, const struct mt_log_fact *f)
{
    uint64_t free = mt_log_or_zero(d->free), cached = mt_log_or_zero(d->unallocated),
             others = mt_log_or_zero(d->others);
    uint64_t elsewhere = held_elsewhere(d, f),
             lacks = d->request != MT_LOG_NONE && d->request > free ? d->request - free : 0;
    d->cause = MT_CAUSE_CAPACITY;
    d->confidence = d->unallocated != MT_LOG_NONE ? "high" : "medium";
    if (f->value[MT_LO_ALLOWED] != MT_LOG_NONE && strcmp(f->text, "block") == 0) {
        d->cause = MT_CAUSE_LIMIT;
        d->confidence = "high";
    } else if (mt_logdiag_spilled(d)) {
        d->confidence = "medium"; /* of what is over, nothing is on the card to be packed better */
    } else if (f->platform == 'X' && too_large_a_block(d)) {
        d->cause = MT_CAUSE_LIMIT;
        d->confidence = "medium";
    } else if (d->free == MT_LOG_NONE && no_room(d)) {
        d->confidence = "medium";
    } else if (d->request == MT_LOG_NONE || d->free == MT_LOG_NONE || d->request == MT_LOG_EXA) {
        d->cause = MT_CAUSE_UNKNOWN;
        d->confidence = "low";
    } else if (free >= d->request && free - d->request >= MT_LOG_ROUNDED) {
        d->cause = MT_CAUSE_LIMIT;
        d->confidence = d->allowed != MT_LOG_NONE ? "high" : "low";
    } else if (elsewhere >= d->capacity / 4 && elsewhere > 2 * cached && elsewhere > lacks) {
        /* Others hold a quarter of the card, twice what the cache could have given back, and more
         * than was lacking. Chosen by hand on public tickets. Of 799 reports on logs half of the
         * card changes 3, a third 1, an eighth none, a sixteenth 3; a factor of 1 instead of 2
         * none. */
        d->cause = MT_CAUSE_FOREIGN;
        d->confidence = d->others_named && others >= elsewhere / 2 ? "medium" : "low";
    } else if (cached >= d->request && !only_crumbs(d)) {
        d->cause = MT_CAUSE_FRAGMENTATION;
        /* Bytes of private pools serve nobody else; the sentence does not say how much of the rest
         * lies in them. */
        d->confidence = cached / 2 >= d->request && cached >= d->reserved / 10 &&
                                mt_log_or_zero(d->private_pools) == 0
                            ? "high"
                            : "medium";
    } else if (others > lacks && d->capacity != MT_LOG_NONE && others >= d->capacity / 10) {
        d->cause = MT_CAUSE_FOREIGN;
        d->confidence = d->others_named ? "medium" : "low"; /* they may be of the same job */
    } else if (free + cached >= d->request && cached >= d->request / 10 && !only_crumbs(d)) {
        d->confidence = "medium"; /* in one piece they would just have sufficed */
    }
}

static void find_cause(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f)
{
    d->confidence = "high";
    switch ((int)f->kind) {
    case MT_LOG_TORCH_OOM:
        take_numbers(d, log, f);
        torch_cause(d, f);
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
    case MT_LOG_HOST_OOM: d->cause = MT_CAUSE_HOST; break;
    case MT_LOG_KILLED:
        d->cause = MT_CAUSE_KILLED;
        d->confidence = "low";
        break;
    default:
        d->cause = MT_CAUSE_UNKNOWN;
        d->confidence = "low";
        d->request = f->value[0];
        if (f->platform == 'T' && f->value[1] != MT_LOG_NONE) { /* by the compiler's own count */
            d->cause = MT_CAUSE_CAPACITY;
            d->confidence = "high";
            d->capacity = f->value[1];
        }
        break;
    }
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
    if (f->stack != 0) {
        ok = mt_logdiag_place(&place, logs->rules, &log->stacks.p[f->stack - 1], o->phases);
        at = ok ? &place : NULL;
    }
    if (ok) {
        mt_logdiag_phase(d, log, f, at, o->phases);
        find_cause(d, log, f);
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
    d->phase = MT_PH_UNATTRIBUTED;
    d->sub = MT_PH_NONE;
    if (d->n_failures != 0)
        ok = diagnose(d, logs, o, advice);
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
    mt_free(d);
}
