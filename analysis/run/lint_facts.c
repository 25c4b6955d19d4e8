/* lint_facts.c -- what logs and traces say, as far as lint rules ask for it. */
#include "analysis/run/lint_impl.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

typedef bool fact_of(const struct mt_lint_in *in, struct mt_lint_fact *out);

static void at_line(struct mt_lint_fact *out, const struct mt_log_file *file,
                    const struct mt_log_fact *f)
{
    (void)snprintf(out->where, sizeof out->where, "%.160s:%llu", file->name,
                   (unsigned long long)f->line);
}

/* The first fact of a kind; NULL when there is none. */
static const struct mt_log_fact *first_of(const struct mt_lint_in *in, enum mt_log_kind kind,
                                          const struct mt_log_file **file)
{
    for (uint32_t i = 0; in->logs != NULL && i < in->logs->files.n; i++) {
        const struct mt_log_file *f = &in->logs->files.p[i];
        for (uint32_t k = 0; k < f->log.facts.n; k++)
            if (f->log.facts.p[k].kind == kind) {
                *file = f;
                return &f->log.facts.p[k];
            }
    }
    return NULL;
}

static bool sleep_frees_nothing(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; in->logs != NULL && i < in->logs->files.n; i++) {
        const struct mt_log_file *file = &in->logs->files.p[i];
        for (uint32_t k = 0; k < file->log.facts.n; k++) {
            const struct mt_log_fact *f = &file->log.facts.p[k];
            char a[32], b[32];
            if (f->kind != MT_LOG_SLEEP || f->value[0] > 64 * MIB || f->value[1] < 1024 * MIB)
                continue;
            (void)snprintf(out->text, sizeof out->text, "%s freed, %s still in use",
                           mt_words_bytes(a, f->value[0]), mt_words_bytes(b, f->value[1]));
            at_line(out, file, f);
            return true;
        }
    }
    return false;
}

/* "Still in use" of the sleeps that one process reports, in their order: does it only ever grow, by
 * something worth a word? */
static bool residue_in_log(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; in->logs != NULL && i < in->logs->files.n; i++) {
        const struct mt_log_file *file = &in->logs->files.p[i];
        const struct mt_log_fact *first = NULL, *last = NULL;
        bool grows = true, alone = true;
        uint64_t n = 0;
        for (uint32_t k = 0; k < file->log.facts.n && grows; k++) {
            const struct mt_log_fact *f = &file->log.facts.p[k];
            if (f->kind != MT_LOG_SLEEP ||
                (first != NULL && (f->pid != first->pid || f->rank != first->rank)))
                continue;
            alone &= f->pid >= 0 || f->rank >= 0 || n < 64;
            grows = last == NULL || f->value[1] > last->value[1] + 128 * MIB;
            first = first != NULL ? first : f;
            last = f;
            n++;
        }
        if (grows && alone && n >= 3) {
            char a[32], b[32];
            (void)snprintf(out->text, sizeof out->text,
                           "%s after the first, %s after the last of %llu",
                           mt_words_bytes(a, first->value[1]), mt_words_bytes(b, last->value[1]),
                           (unsigned long long)n);
            at_line(out, file, last);
            return true;
        }
    }
    return false;
}

/* The same of an engine's pool, by what the driver's calls left mapped after each sleep. */
static bool residue_in_calls(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    struct {
        const struct mt_sleep *first, *last;
        uint64_t n;
        bool grows;
    } pool[64];
    uint32_t n_pools = 0, k;
    char a[32], b[32];
    for (uint32_t i = 0; in->driver != NULL && i < in->driver->sleeps.n; i++) {
        const struct mt_sleep *s = &in->driver->sleeps.p[i];
        if (s->is_wake || s->who != MT_HOLD_ENGINE || s->ledger >= in->driver->ledgers.n)
            continue;
        for (k = 0; k < n_pools; k++)
            if (pool[k].first->driver == s->driver && pool[k].first->process == s->process &&
                pool[k].first->ledger == s->ledger)
                break;
        if (k == sizeof pool / sizeof *pool)
            continue;
        if (k == n_pools) {
            pool[n_pools].first = s;
            pool[n_pools].n = 0;
            pool[n_pools++].grows = true;
        } else {
            pool[k].grows &= s->left > pool[k].last->left + 128 * MIB;
        }
        pool[k].last = s;
        pool[k].n++;
    }
    for (k = 0; k < n_pools; k++) {
        if (!pool[k].grows || pool[k].n < 3)
            continue;
        (void)snprintf(out->text, sizeof out->text, "%s after the first, %s after the last of %llu",
                       mt_words_bytes(a, pool[k].first->left),
                       mt_words_bytes(b, pool[k].last->left), (unsigned long long)pool[k].n);
        (void)snprintf(out->where, sizeof out->where, "%.160s",
                       in->driver->ledgers.p[pool[k].last->ledger].name);
        return true;
    }
    return false;
}

static bool sleep_residue(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    return residue_in_log(in, out) || residue_in_calls(in, out);
}

static bool pool_refused(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    const struct mt_log_file *file = NULL;
    const struct mt_log_fact *f = first_of(in, MT_LOG_POOL_REFUSED, &file);
    if (f == NULL)
        return false;
    at_line(out, file, f);
    return true;
}

static bool host_ran_out(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    (void)out;
    return in->logs != NULL && mt_logs_host_ran_out(in->logs);
}

static bool startup_short(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    const struct mt_log_file *file = NULL;
    const struct mt_log_fact *f = first_of(in, MT_LOG_VLLM_STARTUP, &file);
    char a[32], b[32], c[32];
    if (f == NULL)
        return false;
    (void)snprintf(out->text, sizeof out->text, "it wants %s, and %s of %s were free",
                   mt_words_bytes(a, f->value[3]), mt_words_bytes(b, f->value[0]),
                   mt_words_bytes(c, f->value[1]));
    at_line(out, file, f);
    return true;
}

static bool torch_above_in_log(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; in->logs != NULL && i < in->logs->files.n; i++) {
        const struct mt_log_file *file = &in->logs->files.p[i];
        for (uint32_t k = 0; k < file->log.facts.n; k++) {
            const struct mt_log_fact *f = &file->log.facts.p[k];
            char a[32], b[32];
            if (f->kind != MT_LOG_TORCH_USAGE || f->value[1] == MT_LOG_NONE ||
                f->value[3] == MT_LOG_NONE || f->value[1] <= f->value[3] + 64 * MIB)
                continue;
            (void)snprintf(out->text, sizeof out->text, "%s of %s", mt_words_bytes(a, f->value[1]),
                           mt_words_bytes(b, f->value[3]));
            at_line(out, file, f);
            return true;
        }
    }
    return false;
}

/* By a snapshot laid beside the driver's calls: what is counted above the card is address space of
 * a pool that sleeps. */
static bool torch_above_in_calls(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; in->driver != NULL && i < in->driver->reconciled.n; i++) {
        const struct mt_reconcile *r = &in->driver->reconciled.p[i];
        const struct mt_ledger *l =
            r->ledger < in->driver->ledgers.n ? &in->driver->ledgers.p[r->ledger] : NULL;
        char a[32], b[32];
        if (l == NULL || l->capacity == 0 || r->torch_reserved <= l->capacity + 64 * MIB ||
            r->torch_reserved - r->unmapped > l->capacity)
            continue;
        (void)snprintf(out->text, sizeof out->text, "%s of %s",
                       mt_words_bytes(a, r->torch_reserved), mt_words_bytes(b, l->capacity));
        (void)snprintf(out->where, sizeof out->where, "%.160s", l->name);
        return true;
    }
    return false;
}

static bool torch_above_card(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    return torch_above_in_log(in, out) || torch_above_in_calls(in, out);
}

static bool expandable_is_on(const struct mt_lint_in *in)
{
    return in->conf != NULL && mt_runconf_is_true(mt_runconf_get(in->conf, "expandable_segments"));
}

static bool hint_already_on(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; expandable_is_on(in) && in->logs != NULL && i < in->logs->files.n; i++) {
        const struct mt_log_file *file = &in->logs->files.p[i];
        for (uint32_t k = 0; k < file->log.facts.n; k++)
            if (file->log.facts.p[k].hints_expandable) {
                at_line(out, file, &file->log.facts.p[k]);
                return true;
            }
    }
    return false;
}

static void at_failure(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    const struct mt_log_file *file = &in->logs->files.p[in->logdiag->file];
    at_line(out, file, &file->log.facts.p[in->logdiag->fact]);
}

static bool fragmentation_in_log(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    if (in->logdiag == NULL || in->logdiag->cause != MT_CAUSE_FRAGMENTATION)
        return false;
    at_failure(in, out);
    return true;
}

static bool no_expandable(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    (void)out;
    return in->conf != NULL && in->conf->no_expandable;
}

static bool foreign_at_oom(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    const struct mt_logdiag *d = in->logdiag;
    char a[32];
    if (d == NULL || !d->others_named || d->n_others == 0 || d->capacity == MT_LOG_NONE ||
        d->others < d->capacity / 10)
        return false;
    (void)snprintf(out->text, sizeof out->text, "%s of the card (%u process%s)",
                   mt_words_bytes(a, d->others), (unsigned)d->n_others,
                   d->n_others == 1 ? "" : "es");
    at_failure(in, out);
    return true;
}

#define BARE_MIN (150 * MIB) /* of a context without anything in it */
#define BARE_MAX (2048 * MIB)

/* Processes of one sentence that are all of the size of a bare context, and of the same. */
static bool contexts_in_log(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    const struct mt_logdiag *d = in->logdiag;
    const struct mt_log *log;
    uint64_t least = UINT64_MAX, most = 0, line;
    uint32_t n = 0;
    char a[32];
    if (d == NULL || d->n_others < 3)
        return false;
    log = &in->logs->files.p[d->file].log;
    line = log->facts.p[d->fact].line;
    for (uint32_t k = d->fact + 1; k < log->facts.n && log->facts.p[k].kind == MT_LOG_OTHER_PROC &&
                                   log->facts.p[k].line == line;
         k++) {
        uint64_t v = log->facts.p[k].value[1];
        if (v < BARE_MIN || v > BARE_MAX)
            continue;
        least = v < least ? v : least;
        most = v > most ? v : most;
        n++;
    }
    if (n < 3 || most > least + least / 4)
        return false;
    (void)snprintf(out->text, sizeof out->text, "%u processes of up to %s on GPU %d", (unsigned)n,
                   mt_words_bytes(a, most), (int)log->facts.p[d->fact].gpu);
    at_failure(in, out);
    return true;
}

uint32_t mt_bare_contexts(const struct mt_ledger *l, uint64_t *all, uint64_t *largest)
{
    enum { SLOTS = 4096 };
    bool more[SLOTS] = {false}; /* two that share a slot: one finding less, never one more */
    uint64_t least = UINT64_MAX, most = 0;
    uint32_t n = 0;
    *all = 0;
#define SLOT(r) (((r)->driver * 31u + (r)->process) % SLOTS)
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct mt_ledger_row *r = &l->rows.p[i];
        if (r->holder < MT_HOLD_OTHER && r->holder != MT_HOLD_CONTEXT &&
            r->bytes > (int64_t)(64 * MIB))
            more[SLOT(r)] = true;
    }
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct mt_ledger_row *r = &l->rows.p[i];
        uint64_t v = r->bytes > 0 ? (uint64_t)r->bytes : 0;
        if (r->holder != MT_HOLD_CONTEXT || v < BARE_MIN || v > BARE_MAX || more[SLOT(r)])
            continue;
        least = v < least ? v : least;
        most = v > most ? v : most;
        *all += v;
        n++;
    }
#undef SLOT
    *largest = most;
    return n >= 3 && most <= least + least / 4 ? n : 0;
}

static bool contexts_in_ledger(const struct mt_ledger *l, struct mt_lint_fact *out)
{
    uint64_t all, most;
    uint32_t n = mt_bare_contexts(l, &all, &most);
    char a[32];
    if (n == 0)
        return false;
    (void)snprintf(out->text, sizeof out->text,
                   "%u processes of up to %s that have nothing else there", (unsigned)n,
                   mt_words_bytes(a, most));
    (void)snprintf(out->where, sizeof out->where, "%.160s", l->name);
    return true;
}

static bool contexts_on_gpu(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    if (contexts_in_log(in, out))
        return true;
    for (uint32_t i = 0; in->driver != NULL && i < in->driver->ledgers.n; i++)
        if (contexts_in_ledger(&in->driver->ledgers.p[i], out))
            return true;
    return false;
}

/* By the driver's own figure before the job had anything. */
static bool foreign_start(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; in->driver != NULL && i < in->driver->ledgers.n; i++) {
        const struct mt_ledger *l = &in->driver->ledgers.p[i];
        int64_t other;
        char a[32];
        if (l->n_columns == 0 || l->capacity == 0 || l->used == NULL || l->used[0] == 0 ||
            l->foreign_pids)
            continue;
        other = l->by_holder[MT_HOLD_OTHER];
        if (other <= 0 || (uint64_t)other < l->capacity / 20)
            continue;
        (void)snprintf(out->text, sizeof out->text, "%s", mt_words_bytes(a, (uint64_t)other));
        (void)snprintf(out->where, sizeof out->where, "%.160s", l->name);
        return true;
    }
    return false;
}

/* ---- traces ---- */

static void at_trace(struct mt_lint_fact *out, const struct mt_trace *t)
{
    const char *name = t->meta.member != NULL ? t->meta.member : t->meta.input;
    (void)snprintf(out->where, sizeof out->where, "%.180s", name != NULL ? name : "");
}

static bool ring_overflowed(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; i < in->n_analyses; i++) {
        const struct mt_trace *t = in->analyses[i]->trace;
        for (uint32_t k = 0; k < t->devices.n; k++) {
            if (t->devices.p[k].ring_overflowed != 1)
                continue;
            (void)snprintf(out->text, sizeof out->text, "%llu",
                           (unsigned long long)t->devices.p[k].ring_max_entries);
            at_trace(out, t);
            return true;
        }
    }
    return false;
}

static bool no_history(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; i < in->n_analyses; i++)
        for (uint32_t k = 0; k < in->analyses[i]->devices.n; k++)
            if (in->analyses[i]->devices.p[k].n_events != 0)
                return false;
    if (in->n_analyses == 0 || in->analyses[0]->devices.n == 0)
        return false;
    at_trace(out, in->analyses[0]->trace);
    return true;
}

static bool pending_backlog(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; i < in->n_analyses; i++)
        for (uint32_t k = 0; k < in->analyses[i]->devices.n; k++) {
            const struct mt_device_analysis *d = &in->analyses[i]->devices.p[k];
            char a[32];
            if (d->withheld != NULL || d->pending_peak < 256 * MIB ||
                d->pending_peak < d->live_peak / 20)
                continue;
            (void)snprintf(out->text, sizeof out->text, "%s", mt_words_bytes(a, d->pending_peak));
            at_trace(out, in->analyses[i]->trace);
            return true;
        }
    return false;
}

/* A function of the traces by its file ("" = any file) and name ("" = any). */
static bool has_function(const struct mt_lint_in *in, const char *file, const char *name,
                         struct mt_lint_fact *out)
{
    for (uint32_t i = 0; i < in->n_analyses; i++) {
        const struct mt_trace *t = in->analyses[i]->trace;
        for (uint32_t k = 0; k < t->functions.n; k++) {
            const struct mt_function *f = &t->functions.p[k];
            if ((name[0] != '\0' && strcmp(mt_str(t, f->name), name) != 0) ||
                (file[0] != '\0' && strstr(mt_str(t, f->file), file) == NULL))
                continue;
            at_trace(out, t);
            return true;
        }
    }
    return false;
}

static bool ipc_frames(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    return has_function(in, "torch/multiprocessing/reductions.py", "reduce_tensor", out) ||
           has_function(in, "", "_share_cuda_", out);
}

/* Its library in the native stacks of a driver trace: it has asked for memory, or given some back.
 */
static bool saver_calls(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; in->driver != NULL && i < in->driver->drivers.n; i++) {
        const struct mt_trace *t = in->driver->drivers.p[i];
        for (uint32_t k = 0; k < t->frames.n; k++) {
            mt_str_id known = k < t->driver->frame_module.n ? t->driver->frame_module.p[k] : 0;
            const char *file = mt_str(t, known != 0 ? known : t->frames.p[k].file),
                       *slash = strrchr(file, '/');
            if (strncmp(slash != NULL ? slash + 1 : file, "torch_memory_saver", 18) != 0)
                continue;
            at_trace(out, t);
            return true;
        }
    }
    return false;
}

static bool memory_saver(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    return has_function(in, "torch_memory_saver/", "", out) || saver_calls(in, out);
}

/* A request of a training step failed. */
static bool out_of_memory_in_training(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    for (uint32_t i = 0; i < in->n_analyses; i++) {
        const struct mt_verdict *v = &in->analyses[i]->verdict;
        if ((v->kind != MT_V_OOM_CAPACITY && v->kind != MT_V_OOM_FRAGMENTATION) ||
            !mt_phase_is(v->phase, MT_TRAINS))
            continue;
        at_trace(out, in->analyses[i]->trace);
        return true;
    }
    if (in->logdiag == NULL || in->logdiag->request == MT_LOG_NONE ||
        !mt_phase_is(in->logdiag->phase, MT_TRAINS))
        return false;
    at_failure(in, out);
    return true;
}

bool mt_lint_fact(const struct mt_lint_in *in, const char *name, struct mt_lint_fact *out,
                  bool *known)
{
    static const struct {
        const char *name;
        fact_of *is;
    } facts[] = {
        {"sleep_frees_nothing", sleep_frees_nothing},
        {"sleep_residue", sleep_residue},
        {"pool_refused", pool_refused},
        {"startup_short", startup_short},
        {"host_ran_out", host_ran_out},
        {"torch_above_card", torch_above_card},
        {"hint_already_on", hint_already_on},
        {"fragmentation_in_log", fragmentation_in_log},
        {"no_expandable", no_expandable},
        {"foreign_at_oom", foreign_at_oom},
        {"contexts_on_gpu", contexts_on_gpu},
        {"foreign_start", foreign_start},
        {"ring_overflowed", ring_overflowed},
        {"no_history", no_history},
        {"pending_backlog", pending_backlog},
        {"ipc_frames", ipc_frames},
        {"memory_saver", memory_saver},
        {"out_of_memory_in_training", out_of_memory_in_training},
        {"near_key", mt_lint_near},
    };
    memset(out, 0, sizeof *out);
    *known = true;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].is(in, out);
    *known = false;
    return false;
}
