/* export/driver.c -- what the driver saw, as events of a Chrome trace: a process for each GPU,
 * counters by holder, phases, failures, sleep. */
#include "render/export/impl.h"

#include "render/base/escape.h"
#include "render/base/jsonw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TID_FAILED = 1, TID_SLEEP, TID_PHASE = 1, N_LANES = 4, LANE_DEPTH = 16 };

/* Slices of one track have to nest. Ranges of several threads, and of several processes on one GPU,
 * need not: each goes to the first lane where it does. */
struct lane {
    uint64_t ends[LANE_DEPTH]; /* of the open ones, outermost first */
    uint32_t n;
    bool named;
};

/* The lane of a slice that begins no earlier than those before it; N_LANES = none. */
static uint32_t lane_of(struct lane lanes[N_LANES], uint64_t t0, uint64_t t1)
{
    uint32_t i = 0;
    for (; i < N_LANES; i++) {
        struct lane *l = &lanes[i];
        while (l->n != 0 && l->ends[l->n - 1] <= t0)
            l->n--;
        if (l->n < LANE_DEPTH && (l->n == 0 || l->ends[l->n - 1] >= t1)) {
            l->ends[l->n++] = t1;
            break;
        }
    }
    return i;
}

static void lane_slice(struct mt_chrome *c, struct lane lanes[N_LANES], uint32_t tid,
                       const char *lane_name, const char *name, uint64_t t0, uint64_t t1)
{
    uint32_t lane = lane_of(lanes, t0, t1);
    if (lane == N_LANES) {
        c->n_left_out++;
        return;
    }
    if (!lanes[lane].named)
        mt_chrome_name(c, "thread_name", tid + lane, lane_name);
    lanes[lane].named = true;
    mt_chrome_slice(c, name, strlen(name), tid + lane, true, t0, t1);
}

/* Columns share the time of the ledger equally; each stands at its beginning, so that none lies
 * before the state it shows. */
static uint64_t column_ns(const struct mt_ledger *l, uint32_t i)
{
    return l->t0_ns + (uint64_t)((double)(l->t1_ns - l->t0_ns) * i / l->n_columns);
}

static void ledger(struct mt_chrome *c, const struct mt_ledger *l)
{
    char name[96];
    for (int h = 0; h < MT_HOLD_COUNT; h++) {
        int64_t last = 0;
        snprintf(name, sizeof name, "%s", mt_holder_words((enum mt_holder)h));
        for (uint32_t i = 0; i < l->n_columns; i++) {
            int64_t v = l->by_holder[(size_t)i * MT_HOLD_COUNT + (size_t)h];
            if (v != last)
                mt_chrome_counter(c, name, true, column_ns(l, i), v);
            last = v;
        }
    }
    for (uint32_t i = 0; i < l->n_columns; i++)
        if (l->used[i] != 0 && (i == 0 || l->used[i] != l->used[i - 1])) /* 0 = no sample yet */
            mt_chrome_counter(c, "device used", true, column_ns(l, i), (int64_t)l->used[i]);
}

static void failures(struct mt_chrome *c, const struct mt_driverdiag *j, uint32_t gpu)
{
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        const struct mt_driver_oom *m = &j->ooms.p[i];
        const char *name = m->survived ? "driver call failed, survived" : "out of memory";
        if (m->ledger != gpu)
            continue;
        mt_chrome_open(c, "i", name, strlen(name), TID_FAILED);
        mt_chrome_ts(c, true, m->time_ns);
        mt_jw_ks(c->w, "s", "t");
        mt_jw_key(c->w, "args");
        mt_jw_open(c->w, '{');
        mt_jw_ku(c->w, "request_bytes", m->request);
        mt_jw_known(c->w, "device_free_bytes", m->free != 0, m->free);
        mt_jw_ks(c->w, "holder", mt_holder_words(m->who));
        mt_jw_ks(c->w, "library", m->library);
        mt_jw_ks(c->w, "site", m->label);
        mt_jw_close(c->w, '}');
        mt_chrome_close(c);
    }
}

static void sleeps(struct mt_chrome *c, const struct mt_driverdiag *j, uint32_t gpu)
{
    struct lane lanes[N_LANES];
    memset(lanes, 0, sizeof lanes);
    for (uint32_t i = 0; i < j->sleeps.n; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        if (s->ledger == gpu)
            lane_slice(c, lanes, TID_SLEEP, "sleep and wake",
                       s->is_wake ? "wakes" : "goes to sleep", s->t0_ns, s->t1_ns);
    }
}

/* A track for each process that marked phases. */
static void phases(struct mt_chrome *c, const struct mt_driverdiag *j)
{
    uint32_t *first = mt_calloc((size_t)j->drivers.n + 1, sizeof *first);
    struct lane(*lanes)[N_LANES] = NULL;
    char name[320];
    for (uint32_t i = 0; first != NULL && i < j->drivers.n; i++)
        first[i + 1] = first[i] + j->drivers.p[i]->driver->processes.n;
    if (first != NULL)
        lanes = mt_calloc((size_t)first[j->drivers.n] + 1, sizeof *lanes);
    if (lanes == NULL) {
        if (c->w->o->error == 0)
            c->w->o->error = ENOMEM;
        mt_free(first);
        return;
    }
    mt_chrome_process(c, "phases of the job (NVTX)");
    for (uint32_t i = 0; i < j->phases.n; i++) {
        const struct mt_driver_phase *p = &j->phases.p[i];
        const struct mt_trace *t = j->drivers.p[p->driver];
        const struct mt_process *who = &t->driver->processes.p[p->process];
        uint32_t at = first[p->driver] + p->process;
        snprintf(name, sizeof name, "%.200s, pid %lu", mt_str(t, who->name),
                 (unsigned long)who->pid);
        if (p->t1_ns >= p->t0_ns && p->t1_ns != 0)
            lane_slice(c, lanes[at], TID_PHASE + at * N_LANES, name, mt_phase_words(p->phase),
                       p->t0_ns, p->t1_ns);
    }
    mt_free(lanes);
    mt_free(first);
}

void mt_chrome_driver(struct mt_chrome *c, const struct mt_driverdiag *j)
{
    char name[192];
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        const struct mt_ledger *l = &j->ledgers.p[i];
        snprintf(name, sizeof name, "driver: %.160s", l->name);
        mt_chrome_process(c, name);
        mt_chrome_name(c, "thread_name", TID_FAILED, "failed calls");
        ledger(c, l);
        failures(c, j, i);
        sleeps(c, j, i);
    }
    if (j->phases.n != 0)
        phases(c, j);
}
