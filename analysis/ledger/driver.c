/* Several processes on shared GPUs: who they are, two passes over what they
 * did, and what comes of it. */
#include "analysis/ledger/impl.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what comes of it ---- */

/* Sets the moment to look at of each GPU: the first failure that was not survived, else the peak.
 */
static void choose_focus(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        struct mt_ledger *l = &j->ledgers.p[i];
        l->focus_seq = l->peak_named != 0 ? b->run[i].peak_seq : b->run[i].used_seq;
    }
    for (uint32_t i = j->ooms.n; i-- > 0;) {
        const struct mt_driver_oom *o = &j->ooms.p[i];
        if (!o->is_fatal || o->is_host || o->time_ns < j->ledgers.p[o->ledger].whole_ns)
            continue;
        j->ledgers.p[o->ledger].focus_seq = b->oom_seq.p[i];
        j->ledgers.p[o->ledger].focus_is_oom = true;
    }
}

/* The phase of each column: that of the process which held most on the GPU, at
 * the middle of the column. */
static int column_phases(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    uint32_t *order = mt_malloc(((size_t)b->n_procs + 1) * sizeof *order);
    uint64_t *held = mt_malloc(((size_t)b->n_procs + 1) * sizeof *held);
    int ok = order != NULL && held != NULL;
    for (uint32_t i = 0; ok && i < j->ledgers.n; i++) {
        struct mt_ledger *l = &j->ledgers.p[i];
        uint64_t width = (l->t1_ns - l->t0_ns) / MT_TL_COLUMNS + 1;
        uint32_t n = 0;
        memset(held, 0, ((size_t)b->n_procs + 1) * sizeof *held);
        for (uint32_t k = 0; k < b->rows.n; k++)
            if (b->rows.p[k].ledger == i)
                held[b->rows.p[k].proc] += b->rows.p[k].peak;
        for (uint32_t k = 0; k < b->n_procs; k++) {
            uint32_t at = n;
            if (held[k] == 0)
                continue;
            while (at > 0 && held[order[at - 1]] < held[k]) {
                order[at] = order[at - 1];
                at--;
            }
            order[at] = k;
            n++;
        }
        for (uint32_t c = 0; c < l->n_columns; c++) {
            uint64_t t = l->t0_ns + (uint64_t)c * width + width / 2;
            const struct mt_driver_phase *p =
                n == 0 ? mt_driver_phase_at(b, MT_NONE32, t, true) : NULL;
            for (uint32_t k = 0; k < n && p == NULL && k < 16; k++)
                p = mt_driver_phase_at(b, order[k], t, true);
            l->phase[c] = (uint8_t)(p != NULL ? p->phase : MT_PH_UNATTRIBUTED);
        }
    }
    mt_free(order);
    mt_free(held);
    return ok;
}

static int sum_processes(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->n_procs; i++) {
        struct mt_driver_process *p = MT_VEC_PUSH(&b->driver->processes);
        uint64_t most = 0;
        if (p == NULL)
            return 0;
        *p = b->proc[i].sum;
        for (uint32_t k = 0; k < b->rows.n; k++) {
            if (b->rows.p[k].proc == i && b->rows.p[k].peak > most) {
                most = b->rows.p[k].peak;
                p->ledger = b->rows.p[k].ledger;
            }
        }
    }
    return 1;
}

static void ledger_done(struct mt_ledger *l)
{
    for (uint32_t i = 0; i < l->rows.n; i++) {
        mt_free(l->rows.p[i].library);
        mt_free(l->rows.p[i].label);
    }
    MT_VEC_DONE(&l->rows);
    for (uint32_t i = 0; i < l->code.n; i++)
        mt_free(l->code.p[i].library);
    MT_VEC_DONE(&l->code);
    MT_VEC_DONE(&l->checks);
    MT_VEC_DONE(&l->moves);
    mt_free(l->name);
    mt_free(l->by_holder);
    mt_free(l->named);
    mt_free(l->used);
    mt_free(l->phase);
}

struct place {
    const struct mt_driverdiag *j;
    uint32_t of;
    uint64_t fatal_ns;
    uint64_t fill; /* share of the capacity in 1/65536, or bytes */
};

static int worst_first(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->fatal_ns != b->fatal_ns)
        return a->fatal_ns < b->fatal_ns ? -1 : 1;
    if (a->fill != b->fill)
        return a->fill > b->fill ? -1 : 1;
    return a->of < b->of ? -1 : a->of > b->of;
}

/* Drops the GPUs that nobody used and puts the others in order, worst first. */
static int order_ledgers(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    struct place *place = mt_calloc((size_t)j->ledgers.n + 1, sizeof *place);
    struct mt_ledger *sorted = mt_calloc((size_t)j->ledgers.n + 1, sizeof *sorted);
    uint32_t *to = mt_malloc(((size_t)j->ledgers.n + 1) * sizeof *to), n = 0;
    bool any_calls = false, capacities = true;
    int ok = place != NULL && sorted != NULL && to != NULL;
    for (uint32_t i = 0; ok && i < j->ledgers.n; i++)
        any_calls |= b->run[i].n_calls != 0;
    for (uint32_t i = 0; ok && i < j->ledgers.n; i++)
        capacities &= j->ledgers.p[i].capacity != 0 || b->run[i].n_calls == 0;
    for (uint32_t i = 0; ok && i < j->ledgers.n; i++) {
        struct mt_ledger *l = &j->ledgers.p[i];
        uint64_t most = l->peak_used > l->peak_named ? l->peak_used : l->peak_named;
        to[i] = MT_NONE32;
        if (l->gpu == MT_NONE32 && l->peak_named == 0 && !l->focus_is_oom)
            continue;
        if (any_calls ? b->run[i].n_calls == 0 : b->run[i].n_samples == 0)
            continue;
        place[n++] =
            (struct place){j, i, UINT64_MAX, capacities ? most / (l->capacity / 65536 + 1) : most};
        for (uint32_t k = 0; k < j->ooms.n; k++)
            if (j->ooms.p[k].is_fatal && j->ooms.p[k].ledger == i &&
                j->ooms.p[k].time_ns < place[n - 1].fatal_ns)
                place[n - 1].fatal_ns = j->ooms.p[k].time_ns;
    }
    if (n > 1)
        qsort(place, n, sizeof *place, worst_first);
    for (uint32_t i = 0; ok && i < n; i++) {
        to[place[i].of] = i;
        sorted[i] = j->ledgers.p[place[i].of];
    }
    for (uint32_t i = 0; ok && i < j->ledgers.n; i++) {
        if (to[i] == MT_NONE32)
            ledger_done(&j->ledgers.p[i]);
    }
#define MOVE(field) ((field) = (field) < j->ledgers.n ? to[field] : MT_NONE32)
    for (uint32_t i = 0; ok && i < j->ooms.n; i++)
        MOVE(j->ooms.p[i].ledger);
    for (uint32_t i = 0; ok && i < j->sleeps.n; i++)
        MOVE(j->sleeps.p[i].ledger);
    for (uint32_t i = 0; ok && i < j->phases.n; i++)
        MOVE(j->phases.p[i].peak_ledger);
    for (uint32_t i = 0; ok && i < j->processes.n; i++)
        MOVE(j->processes.p[i].ledger);
    for (uint32_t i = 0; ok && i < j->reconciled.n; i++)
        MOVE(j->reconciled.p[i].ledger);
    for (uint32_t i = 0; ok && i < j->books_peaks.n; i++)
        MOVE(j->books_peaks.p[i].ledger);
#undef MOVE
    if (ok) {
        if (n != 0)
            memcpy(j->ledgers.p, sorted, n * sizeof *sorted);
        j->ledgers.n = n;
    }
    mt_free(place);
    mt_free(sorted);
    mt_free(to);
    return ok;
}

static int name_ledgers(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->driver->ledgers.n; i++) {
        struct mt_ledger *l = &b->driver->ledgers.p[i];
        l->name = mt_gpu_name(b->driver->drivers.p[l->driver], l->gpu, l->capacity);
        if (l->name == NULL)
            return 0;
    }
    return 1;
}

/* Words why some processes are not recorded, or in part: in the recorder's own words. */
static int unrecorded(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    char buf[1024];
    size_t n = 0;
    uint32_t more = 0;
    for (uint32_t i = 0; i < j->drivers.n; i++) {
        const struct mt_trace *t = j->drivers.p[i];
        for (uint32_t k = 0; k < t->driver->statuses.n; k++) {
            const struct mt_status *s = &t->driver->statuses.p[k];
            const struct mt_process *p =
                s->process < t->driver->processes.n ? &t->driver->processes.p[s->process] : NULL;
            int len;
            if (s->level < 2)
                continue;
            if (n > 600) {
                more++;
                continue;
            }
            if (p != NULL)
                len = snprintf(buf + n, sizeof buf - n, "%s%.80s (pid %u): %.240s",
                               n != 0 ? "; " : "", mt_str(t, p->name), (unsigned)p->pid,
                               mt_str(t, s->text));
            else
                len = snprintf(buf + n, sizeof buf - n, "%s%.240s", n != 0 ? "; " : "",
                               mt_str(t, s->text));
            n += len > 0 ? (size_t)len : 0;
        }
    }
    if (n == 0)
        return 1;
    if (more != 0)
        n += (size_t)snprintf(buf + n, sizeof buf - n, "; and %u more", (unsigned)more);
    j->unrecorded = mt_strndup(buf, n);
    return j->unrecorded != NULL;
}

static void books_done(struct mt_books *b)
{
    for (uint32_t i = 0; i < b->driver->drivers.n; i++) {
        if (b->who != NULL)
            mt_stack_who_done(&b->who[i]);
        if (b->proc_of != NULL)
            mt_free(b->proc_of[i]);
        if (b->ledger_of != NULL)
            mt_free(b->ledger_of[i]);
    }
    for (uint32_t i = 0; i < b->n_procs; i++) {
        if (b->proc[i].sweep != NULL)
            mt_claim_sweep_done(b->proc[i].sweep);
        mt_free(b->proc[i].sweep);
    }
    mt_free(b->who);
    mt_free((void *)b->proc_of);
    mt_free((void *)b->ledger_of);
    mt_free(b->proc);
    mt_free(b->run);
    mt_free(b->held);
    mt_free(b->row_slot);
    MT_VEC_DONE(&b->rows);
    MT_VEC_DONE(&b->bursts);
    MT_VEC_DONE(&b->oom_chain);
    MT_VEC_DONE(&b->oom_seq);
    MT_VEC_DONE(&b->probes);
    MT_VEC_DONE(&b->by_pid);
    MT_VEC_DONE(&b->open_phases);
    MT_VEC_DONE(&b->measured);
    mt_driver_phases_done(&b->phases);
    mt_libs_done(&b->libs);
}

static int work(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    b->who = mt_calloc((size_t)j->drivers.n + 1, sizeof *b->who);
    for (uint32_t i = 0; b->who != NULL && i < j->drivers.n; i++)
        if (!mt_stack_who_init(&b->who[i], j->drivers.p[i]))
            return 0;
    if (b->who == NULL || !mt_world_make(b) || !mt_driver_phases_make(b) || !mt_ledgers_open(b) ||
        !mt_books_replay(b) || !mt_sleep_finish(b))
        return 0;
    mt_oom_settle(b);
    choose_focus(b);
    b->second_pass = true;
    return mt_books_replay(b) && mt_oom_finish(b) && column_phases(b) && sum_processes(b) &&
           order_ledgers(b) && name_ledgers(b) && unrecorded(b) && mt_driver_verdict(b);
}

enum mt_rc mt_driverdiag_make(struct mt_driverdiag **out, const struct mt_trace *const *traces,
                              uint32_t n_traces, const struct mt_claims *claims, uint32_t n_claims,
                              const struct mt_driverdiag_opts *o, struct mt_err *err)
{
    struct mt_books b;
    struct mt_driverdiag *j = mt_calloc(1, sizeof *j);
    enum mt_rc rc = MT_OK;
    *out = NULL;
    memset(&b, 0, sizeof b);
    b.driver = j;
    b.o = o;
    b.claims = claims;
    b.n_claims = n_claims;
    for (uint32_t i = 0; j != NULL && rc >= 0 && i < n_traces; i++) {
        const struct mt_trace **t;
        if (traces[i]->driver == NULL)
            continue;
        t = MT_VEC_PUSH(&j->drivers);
        if (t == NULL)
            rc = MT_ENOMEM;
        else
            *t = traces[i];
    }
    if (j == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory while adding up what the driver did");
    if (rc >= 0)
        rc = mt_libs_load(&b.libs, o, err);
    else
        mt_fail(err, rc, "out of memory while adding up what the driver did");
    if (rc >= 0 && !work(&b))
        rc = mt_fail(err, MT_ENOMEM,
                     "out of memory after %llu MiB while adding up what the driver "
                     "did (a limit can be raised with "
                     "--max-memory)",
                     (unsigned long long)(mt_mem_used() >> 20));
    books_done(&b);
    if (rc < 0)
        mt_driverdiag_free(j);
    else
        *out = j;
    return rc;
}

void mt_driverdiag_free(struct mt_driverdiag *j)
{
    if (j == NULL)
        return;
    for (uint32_t i = 0; i < j->ledgers.n; i++)
        ledger_done(&j->ledgers.p[i]);
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        mt_free(j->ooms.p[i].library);
        mt_free(j->ooms.p[i].label);
    }
    for (uint32_t i = 0; i < j->reconciled.n; i++) {
        for (uint32_t k = 0; k < j->reconciled.p[i].others.n; k++) {
            mt_free(j->reconciled.p[i].others.p[k].library);
            mt_free(j->reconciled.p[i].others.p[k].label);
        }
        MT_VEC_DONE(&j->reconciled.p[i].others);
        for (int k = 0; k < MT_MAX_GONE; k++)
            mt_free(j->reconciled.p[i].gone[k].site);
    }
    MT_VEC_DONE(&j->drivers);
    MT_VEC_DONE(&j->ledgers);
    MT_VEC_DONE(&j->ooms);
    MT_VEC_DONE(&j->sleeps);
    MT_VEC_DONE(&j->phases);
    MT_VEC_DONE(&j->reconciled);
    MT_VEC_DONE(&j->books_peaks);
    MT_VEC_DONE(&j->processes);
    mt_free(j->sentence);
    mt_free(j->because);
    mt_free(j->unrecorded);
    mt_free(j);
}
