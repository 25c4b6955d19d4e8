/* export_job.c -- what the driver saw, as events of a Chrome trace: a process for each GPU, counters by holder, phases, failures, sleep. */
#include "render/export_impl.h"

#include "render/escape.h"
#include "render/jsonw.h"

#include <stdio.h>
#include <string.h>

enum { TID_FAILED = 1, TID_SLEEP, TID_PHASE };

/* Columns share the time of the ledger equally; each stands at its beginning, so that none lies before the state it shows. */
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

static void failures(struct mt_chrome *c, const struct mt_job *j, uint32_t gpu)
{
    for (uint32_t i = 0; i < j->ooms.n; i++) {
        const struct mt_driver_oom *m = &j->ooms.p[i];
        const char *name = m->survived ? "driver call failed, survived" : "out of memory";
        if (m->ledger != gpu)
            continue;
        mt_chrome_open(c, "i", name, strlen(name), TID_FAILED);
        mt_chrome_ts(c, true, m->time_ns);
        mt_jw_ks(c->w, "s", "p");
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
    for (uint32_t i = 0; i < j->sleeps.n; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        const char *name = s->is_wake ? "wakes" : "goes to sleep";
        if (s->ledger == gpu)
            mt_chrome_slice(c, name, strlen(name), TID_SLEEP, true, s->t0_ns, s->t1_ns);
    }
}

void mt_chrome_job(struct mt_chrome *c, const struct mt_job *j)
{
    char name[192];
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        const struct mt_ledger *l = &j->ledgers.p[i];
        c->pid++;
        snprintf(name, sizeof name, "driver: %.160s", l->name);
        mt_chrome_name(c, "process_name", 0, name);
        mt_chrome_name(c, "thread_name", TID_FAILED, "failed calls");
        mt_chrome_name(c, "thread_name", TID_SLEEP, "sleep and wake");
        ledger(c, l);
        failures(c, j, i);
    }
    if (j->phases.n == 0)
        return;
    c->pid++;
    mt_chrome_name(c, "process_name", 0, "phases of the job (NVTX)");
    for (uint32_t i = 0; i < j->phases.n; i++) { /* those of one process nest; each process is a track */
        const struct mt_job_phase *p = &j->phases.p[i];
        const char *words = mt_phase_words(p->phase);
        uint32_t tid = TID_PHASE + p->process + p->driver * 65536u;
        if (p->t1_ns >= p->t0_ns && p->t1_ns != 0)
            mt_chrome_slice(c, words, strlen(words), tid, true, p->t0_ns, p->t1_ns);
    }
}
