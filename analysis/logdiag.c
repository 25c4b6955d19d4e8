/* logdiag.c -- from the facts of logs to a cause with its numbers. */
#include "analysis/logdiag.h"
#include "analysis/advice.h"
#include "analysis/words.h"

#include <stdio.h>
#include <string.h>

#define ROUNDED (UINT64_C(32) << 20) /* sizes of one thing in two lines may differ by their printed decimals */

void mt_logs_done(struct mt_logs *l)
{
    for (uint32_t i = 0; i < l->files.n; i++) {
        mt_free(l->files.p[i].name);
        mt_free(l->files.p[i].problem);
        mt_log_done(&l->files.p[i].log);
    }
    MT_VEC_DONE(&l->files);
}

uint64_t mt_logs_facts(const struct mt_logs *l)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < l->files.n; i++)
        n += l->files.p[i].log.facts.n;
    return n;
}

static uint64_t capacity_of(const struct mt_log_fact *f)
{
    switch ((int)f->kind) {
    case MT_LOG_TORCH_OOM: return f->value[MT_LO_CAPACITY];
    case MT_LOG_TORCH_USAGE: return f->value[3];
    case MT_LOG_VLLM_BUDGET: return f->value[0];
    case MT_LOG_VLLM_STARTUP: return f->value[1];
    default: return MT_LOG_NONE;
    }
}

uint64_t mt_logs_capacity(const struct mt_logs *l, int32_t gpu)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            uint64_t c = capacity_of(f);
            if (c == MT_LOG_NONE || c == 0 || (gpu >= 0 && f->gpu >= 0 && f->gpu != gpu))
                continue;
            if (size != 0 && (c > size ? c - size : size - c) > ROUNDED)
                return 0;
            if (c > size)
                size = c;
        }
    }
    return size;
}

bool mt_logs_have(const struct mt_logs *l, enum mt_log_kind kind)
{
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            if (log->facts.p[k].kind == kind)
                return true;
        }
    }
    return false;
}

int mt_logs_framework(const struct mt_logs *l)
{
    uint64_t n[MT_FW_COUNT] = {0};
    int best = -1;
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->paths.n; k++)
            n[mt_framework_of_path(log->paths.p[k].path, strlen(log->paths.p[k].path))] += log->paths.p[k].n;
    }
    for (int f = MT_FW_VERL; f <= MT_FW_NEMORL; f++)
        if (n[f] > (best < 0 ? 0 : n[best]))
            best = f;
    return best;
}

const char *mt_log_cause_name(enum mt_log_cause c)
{
    static const char *const names[MT_LC_COUNT] = {"none",  "capacity",      "fragmentation", "other_processes",
                                                   "limit", "outside_torch", "engine_share",  "setting",
                                                   "host",  "killed",        "unknown"};
    return (unsigned)c < MT_LC_COUNT ? names[c] : "unknown";
}

const char *mt_log_cause_words(enum mt_log_cause c)
{
    switch ((int)c) {
    case MT_LC_NONE: return "No failure in the log";
    case MT_LC_CAPACITY: return "Out of memory: the device is full";
    case MT_LC_FRAGMENTATION: return "Out of memory: fragmentation";
    case MT_LC_FOREIGN: return "Out of memory: other processes hold the device";
    case MT_LC_LIMIT: return "Out of memory: a limit of the process";
    case MT_LC_OUTSIDE: return "Out of memory outside PyTorch";
    case MT_LC_ENGINE_SHARE: return "The inference engine's share does not fit";
    case MT_LC_SETTING: return "Two settings exclude each other";
    case MT_LC_HOST: return "Out of host memory";
    case MT_LC_KILLED: return "Killed; the log does not say why";
    case MT_LC_UNKNOWN:
    case MT_LC_COUNT: break;
    }
    return "Out of memory";
}

/* ---- which line ------------------------------------------------------------------------------------------------------------------ */

/* Printed again: by a traceback, by Ray's driver. */
static bool same(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    return a->kind == b->kind && (a->pid < 0 || b->pid < 0 || a->pid == b->pid) &&
           (a->rank < 0 || b->rank < 0 || a->rank == b->rank) && memcmp(a->value, b->value, sizeof a->value) == 0;
}

static void choose(struct mt_logdiag *d, const struct mt_logs *logs)
{
    const struct mt_log_fact *best = NULL, *last = NULL;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            if (!mt_log_is_failure(f->kind))
                continue;
            d->n_failures++;
            d->n_distinct += last == NULL || !same(f, last);
            last = f;
            d->hints_expandable |= f->hints_expandable;
            /* A process that failed is killed afterwards: the kill is then not the news. */
            if (best == NULL || (best->kind == MT_LOG_KILLED && f->kind != MT_LOG_KILLED)) {
                best = f;
                d->file = i;
                d->fact = k;
            }
        }
    }
}

/* "Before update_actor" without an "After": what was going on, by the words that verl, slime and Relax print. */
static const struct {
    const char *word;
    enum mt_phase phase;
} going_on[] = {
    {"update_actor", MT_PH_TRAIN_ACTOR},
    {"update_policy", MT_PH_TRAIN_ACTOR},
    {"update_critic", MT_PH_TRAIN_CRITIC},
    {"ref_log_prob", MT_PH_LOGP_REF},
    {"log_prob", MT_PH_LOGP_OLD},
    {"compute_values", MT_PH_VALUES},
    {"wake_up", MT_PH_ROLLOUT_WAKE_SLEEP},
    {"update_weights", MT_PH_WEIGHT_SYNC},
    {"state_dict()", MT_PH_WEIGHT_SYNC},
    {"offload model", MT_PH_ONLOAD_OFFLOAD},
    {"train", MT_PH_TRAIN},
    {"generate", MT_PH_ROLLOUT_GENERATE},
};

static const struct mt_log_fact *last_mark(const struct mt_log *log, uint32_t before)
{
    const struct mt_log_fact *f = &log->facts.p[before];
    for (uint32_t i = before; i-- > 0;) {
        const struct mt_log_fact *g = &log->facts.p[i];
        if (g->kind == MT_LOG_TORCH_USAGE && g->text[0] != '\0' && (f->pid < 0 || g->pid < 0 || f->pid == g->pid) &&
            (f->rank < 0 || g->rank < 0 || f->rank == g->rank))
            return g;
    }
    return NULL;
}

static void find_phase(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f)
{
    const struct mt_log_fact *mark = last_mark(log, d->fact);
    d->phase = MT_PH_UNATTRIBUTED;
    d->sub = MT_PH_NONE;
    switch ((int)f->kind) {
    case MT_LOG_NCCL_OOM: d->sub = MT_PH_COMM; break;
    case MT_LOG_CUMEM_OOM: d->phase = MT_PH_ROLLOUT_WAKE_SLEEP; return;
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_NO_KV: d->phase = MT_PH_ROLLOUT_KV_ALLOC; return;
    case MT_LOG_VLLM_STARTUP:
    case MT_LOG_POOL_REFUSED: d->phase = MT_PH_ROLLOUT_INIT; return;
    default: break;
    }
    if (mark == NULL || strncmp(mark->text + (mark->text[0] != '\0'), "efore ", 6) != 0)
        return;
    for (size_t i = 0; i < sizeof going_on / sizeof *going_on; i++) {
        if (strstr(mark->text, going_on[i].word) != NULL) {
            d->phase = going_on[i].phase;
            return;
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------------------------------------------- */

static uint64_t minus(uint64_t a, uint64_t b) { return a == MT_LOG_NONE || b == MT_LOG_NONE || b > a ? MT_LOG_NONE : a - b; }
static uint64_t or_zero(uint64_t v) { return v == MT_LOG_NONE ? 0 : v; }

/* Processes named with the sentence. Where this process is not named and one of them is as large as what PyTorch holds, that one is this
 * process: in a container the driver's process ids are not the process's own. */
static void sum_others(struct mt_logdiag *d, const struct mt_log *log)
{
    uint32_t own = UINT32_MAX;
    uint64_t line = log->facts.p[d->fact].line;
    for (uint32_t k = d->fact + 1;
         k < log->facts.n && log->facts.p[k].kind == MT_LOG_OTHER_PROC && log->facts.p[k].line == line; k++) {
        uint64_t v = log->facts.p[k].value[1];
        if (v == MT_LOG_NONE)
            continue;
        if (d->this_process == MT_LOG_NONE && d->reserved != MT_LOG_NONE && v + ROUNDED >= d->reserved &&
            (own == UINT32_MAX || v < log->facts.p[own].value[1]))
            own = k;
        d->others = or_zero(d->others) + v;
        d->n_others++;
    }
    d->others_named = d->n_others != 0;
    if (own != UINT32_MAX) {
        d->this_process = log->facts.p[own].value[1];
        d->others -= d->this_process;
        d->n_others--;
    }
}

static void take_numbers(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f)
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
    d->outside = minus(d->this_process, d->reserved);
    if (!d->others_named && d->this_process != MT_LOG_NONE)
        d->others = minus(minus(d->capacity, d->free), d->this_process);
}

static void clear_numbers(struct mt_logdiag *d)
{
    d->request = d->capacity = d->free = d->allocated = d->reserved = d->unallocated = d->private_pools = MT_LOG_NONE;
    d->allowed = d->this_process = d->outside = d->others = MT_LOG_NONE;
}

/* ---- cause ----------------------------------------------------------------------------------------------------------------------- */

/* What remains at the ends of segments on any card that is full. */
static bool only_crumbs(const struct mt_logdiag *d)
{
    return d->unallocated != MT_LOG_NONE && d->reserved != MT_LOG_NONE && d->unallocated < d->reserved / 50;
}

static void torch_cause(struct mt_logdiag *d)
{
    uint64_t free = or_zero(d->free), cached = or_zero(d->unallocated), others = or_zero(d->others);
    d->cause = MT_LC_CAPACITY;
    d->confidence = d->unallocated != MT_LOG_NONE ? "high" : "medium";
    if (d->request == MT_LOG_NONE || d->free == MT_LOG_NONE) {
        d->cause = MT_LC_UNKNOWN;
        d->confidence = "low";
    } else if (free >= d->request && free - d->request >= ROUNDED) {
        d->cause = MT_LC_LIMIT;
        d->confidence = d->allowed != MT_LOG_NONE ? "high" : "medium";
    } else if (cached >= d->request && !only_crumbs(d)) {
        d->cause = MT_LC_FRAGMENTATION;
        /* Bytes of private pools serve nobody else; the sentence does not say how much of the rest lies in them. */
        d->confidence = cached / 2 >= d->request && or_zero(d->private_pools) == 0 ? "high" : "medium";
    } else if (others > d->request - free && d->capacity != MT_LOG_NONE && others >= d->capacity / 10) {
        d->cause = MT_LC_FOREIGN;
        d->confidence = d->others_named ? "medium" : "low"; /* they may be of the same job */
    } else if (free + cached >= d->request && cached >= d->request / 10 && !only_crumbs(d)) {
        d->cause = MT_LC_FRAGMENTATION;
        d->confidence = "low";
    }
}

static void find_cause(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f)
{
    d->confidence = "high";
    switch ((int)f->kind) {
    case MT_LOG_TORCH_OOM:
        take_numbers(d, log, f);
        torch_cause(d);
        break;
    case MT_LOG_NCCL_OOM:
    case MT_LOG_CUMEM_OOM:
    case MT_LOG_CUBLAS_OOM:
        d->cause = MT_LC_OUTSIDE;
        d->confidence = "medium";
        if (f->kind == MT_LOG_NCCL_OOM)
            d->request = f->value[0];
        break;
    case MT_LOG_VLLM_STARTUP:
        d->cause = MT_LC_ENGINE_SHARE;
        d->free = f->value[0];
        d->capacity = f->value[1];
        d->request = f->value[3];
        break;
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_NO_KV: d->cause = MT_LC_ENGINE_SHARE; break;
    case MT_LOG_POOL_REFUSED: d->cause = MT_LC_SETTING; break;
    case MT_LOG_RAY_KILL:
    case MT_LOG_KERNEL_KILL:
    case MT_LOG_HOST_OOM: d->cause = MT_LC_HOST; break;
    case MT_LOG_KILLED:
        d->cause = MT_LC_KILLED;
        d->confidence = "low";
        break;
    default:
        d->cause = MT_LC_UNKNOWN;
        d->confidence = "low";
        break;
    }
}

/* ---- sentences ------------------------------------------------------------------------------------------------------------------- */

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
    if (d->others != MT_LOG_NONE && (d->others_named ? d->n_others != 0 : d->others > ROUNDED)) {
        mt_words_add(t, "%s%s %s", sep, d->others_named ? "other processes" : "other processes and the driver",
                     mt_words_bytes(b, d->others));
        sep = ", ";
    }
    if (d->this_process == MT_LOG_NONE && d->reserved != MT_LOG_NONE) {
        uint64_t rest = minus(minus(d->capacity, d->free), d->reserved);
        if (rest != MT_LOG_NONE && rest > ROUNDED)
            mt_words_add(t, "%s%s of the card outside PyTorch (CUDA itself, NCCL, other processes)", sep,
                         mt_words_bytes(b, rest));
    }
}

static void say_torch(struct mt_sentence *t, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    char a[32], b[32], c[32];
    subject(t, f);
    mt_words_add(t, " asked for %s", mt_words_bytes(a, or_zero(d->request)));
    if (d->free != MT_LOG_NONE && d->capacity != MT_LOG_NONE)
        mt_words_add(t, " and %s of %s were free", mt_words_bytes(b, d->free), mt_words_bytes(c, d->capacity));
    holders(t, d);
}

static void say_other(struct mt_sentence *t, const struct mt_log_fact *f)
{
    char words[MT_FACT_WORDS], a[32];
    mt_log_fact_words(words, f);
    if (f->kind == MT_LOG_KILLED) {
        mt_words_add(
            t, "A process was killed by a signal, and nothing in the log says why: the usual reason is host memory (`dmesg -T` "
               "shows "
               "it)");
    } else if (f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL || f->kind == MT_LOG_HOST_OOM) {
        mt_words_add(t, "The host ran out of memory, not the GPU: %s", words);
    } else {
        subject(t, f);
        if (f->kind == MT_LOG_VLLM_STARTUP) {
            mt_words_add(t, " could not start vLLM: it wants %s, ", mt_words_bytes(a, or_zero(f->value[3])));
            mt_words_add(t, "%s of ", mt_words_bytes(a, or_zero(f->value[0])));
            mt_words_add(t, "%s were free", mt_words_bytes(a, or_zero(f->value[1])));
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
        mt_words_add(
            t,
            "Without the %s of %s the request would have fitted. An inference engine of the same job is such a process as "
            "well.",
            mt_words_bytes(a, d->others), d->n_others == 1 ? "the other process" : "other processes");
        break;
    case MT_LC_LIMIT:
        if (d->allowed != MT_LOG_NONE)
            mt_words_add(t, "The process may use %s (set_per_process_memory_fraction).", mt_words_bytes(a, d->allowed));
        else
            mt_words_add(t, "More was free than was asked for: a limit of the process or of its allocator refused.");
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
    default: mt_words_add(t, "The line has no numbers to tell a cause from."); break;
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
            (unsigned long long)(or_zero(f->value[1]) > 0 ? f->value[0] / (f->value[1] / 100 + 1) / 100 : 0),
            (unsigned long long)(or_zero(f->value[1]) > 0 ? f->value[0] / (f->value[1] / 100 + 1) % 100 : 0));
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
            mt_words_add(t, "%s of the node's memory were left when Ray's memory monitor stepped in.",
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
    const struct mt_log_fact *mark = last_mark(log, d->fact);
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

static bool say(struct mt_logdiag *d, const struct mt_logs *logs)
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
        say_other(&s, f);
        because_other(&b, d, f);
    }
    mt_words_add(&s, ".");
    say_context(&b, d, logs, f);
    return keep(&d->sentence, &s) && keep(&d->because, &b);
}

enum mt_rc mt_logdiag_make(struct mt_logdiag **out, const struct mt_logs *logs, const struct mt_logdiag_opts *o,
                           struct mt_err *err)
{
    struct mt_logdiag *d = mt_calloc(1, sizeof *d);
    const struct mt_log *log;
    *out = NULL;
    if (d == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    d->confidence = "none";
    clear_numbers(d);
    choose(d, logs);
    d->phase = MT_PH_UNATTRIBUTED;
    d->sub = MT_PH_NONE;
    if (d->n_failures != 0) {
        log = &logs->files.p[d->file].log;
        find_phase(d, log, &log->facts.p[d->fact]);
        find_cause(d, log, &log->facts.p[d->fact]);
    }
    if (!say(d, logs) || (d->n_failures != 0 && !mt_logdiag_advise(d, logs, o, &logs->files.p[d->file].log.facts.p[d->fact]))) {
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
    for (uint32_t i = 0; i < d->advice.n; i++)
        mt_advice_done(&d->advice.p[i]);
    MT_VEC_DONE(&d->advice);
    mt_free(d);
}
