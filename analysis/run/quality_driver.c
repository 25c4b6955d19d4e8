/* run/quality_driver.c -- what limits the trust in a recording of the driver's calls. */
#include "analysis/run/quality_impl.h"

#include "analysis/base/words.h"

#include <stdio.h>

enum { MAX_STATUSES = 4000 };

static const char *status_words(unsigned code)
{
    switch (code) {
    case MT_ST_CUPTI_MISSING:
        return "no driver calls were recorded, because libcupti was not found";
    case MT_ST_CUPTI_VERSION: return "CUPTI";
    case MT_ST_SUBSCRIBER_BUSY:
        return "no driver calls were recorded, because another profiler holds "
               "CUPTI";
    case MT_ST_CUPTI_ERROR: return "CUPTI refused";
    case MT_ST_CALLBACK_REFUSED: return "this CUPTI does not know some calls";
    case MT_ST_MEMORY2_OFF: return "CUPTI's own allocation records were not taken";
    case MT_ST_ACTIVITY_TAKEN: return "another tool took over CUPTI's allocation records";
    case MT_ST_SPOOL_MEMORY:
        return "a killed process would have lost its last records, because the "
               "spool was not on disk";
    case MT_ST_DISK_FULL: return "records could not be written";
    case MT_ST_RING: return "the newest is kept";
    case MT_ST_SIZE_CAP: return "recording stopped at --max-mb";
    case MT_ST_STALLED: return "records were dropped, because writing was too slow";
    case MT_ST_NVML: return "no samples of the device";
    case MT_ST_UNKNOWN_API: return "memory calls that this version does not know";
    case MT_ST_TORCH: return "PyTorch's snapshot";
    case MT_ST_STACKS: return "no stacks";
    case MT_ST_SILENT: return "recording was switched off by somebody else";
    default: return "the recorder says";
    }
}

static void statuses(struct mt_caveats *c, const struct mt_driverdiag *j)
{
    char who[MT_WHO];
    for (uint32_t d = 0; d < j->drivers.n; d++) {
        const struct mt_trace *t = j->drivers.p[d];
        const struct mt_driver *v = t->driver;
        uint32_t limit = v->statuses.n < MAX_STATUSES ? v->statuses.n : MAX_STATUSES;
        for (uint32_t i = 0; i < limit; i++) {
            const struct mt_status *s = &v->statuses.p[i];
            uint32_t more = 0;
            bool told = false;
            if (s->level == 0)
                continue;
            for (uint32_t k = 0; k < limit && !told; k++) {
                const struct mt_status *o = &v->statuses.p[k];
                if (o->level == 0 || o->code != s->code || o->text != s->text)
                    continue;
                told = k < i;
                more += k > i && o->process != s->process;
            }
            if (told)
                continue;
            if (s->process >= v->processes.n)
                (void)snprintf(who, sizeof who, "The launcher");
            else
                (void)mt_driver_who(who, j, d, s->process);
            if (more != 0)
                mt_caveat_add(c, "%s, and %u more: %s%s%s.", who, (unsigned)more,
                              status_words(s->code), mt_str_len(t, s->text) != 0 ? ": " : "",
                              mt_str(t, s->text));
            else
                mt_caveat_add(c, "%s: %s%s%s.", who, status_words(s->code),
                              mt_str_len(t, s->text) != 0 ? ": " : "", mt_str(t, s->text));
        }
    }
}

/* A recording that keeps the newest. */
static void kept(struct mt_caveats *c, const struct mt_driverdiag *j, uint32_t driver,
                 uint32_t process)
{
    const struct mt_process *p = &j->drivers.p[driver]->driver->processes.p[process];
    char who[MT_WHO], a[32], b[32];
    if (p->whole_ns == 0)
        return;
    mt_caveat_add(c,
                  "%s: the newest is kept; %s older records were let go. What was held at that "
                  "time counts as if it had come then, and failures before it are listed without "
                  "who held what.",
                  mt_driver_who(who, j, driver, process), mt_words_count(a, p->n_let_go));
    if (p->n_failures_let_go != 0)
        mt_caveat_add(c, "%s: %s of its failures were let go as well.",
                      mt_driver_who(who, j, driver, process),
                      mt_words_count(b, p->n_failures_let_go));
}

/* One whose recording began while it ran. */
static void attached(struct mt_caveats *c, const struct mt_driverdiag *j)
{
    char who[MT_WHO];
    for (uint32_t d = 0; d < j->drivers.n; d++) {
        const struct mt_driver *v = j->drivers.p[d]->driver;
        for (uint32_t i = 0; i < v->statuses.n; i++)
            if (v->statuses.p[i].code == MT_ST_ATTACHED &&
                v->statuses.p[i].process < v->processes.n)
                mt_caveat_add(c,
                              "%s: it ran already when its recording began. What it held then is "
                              "PyTorch's where its snapshot of that moment says so, the rest is "
                              "one sum, \"(before the recording)\"; what is freed of that sum "
                              "later makes \"unexplained\" smaller, also below zero.",
                              mt_driver_who(who, j, d, v->statuses.p[i].process));
    }
}

static void losses(struct mt_caveats *c, const struct mt_driverdiag *j)
{
    static const char *const what[] = {"records", "records", "of CUPTI's allocation records",
                                       "stacks",  "names",   "chunks"};
    char who[MT_WHO], a[32];
    for (uint32_t d = 0; d < j->drivers.n; d++) {
        const struct mt_driver *v = j->drivers.p[d]->driver;
        for (uint32_t i = 0; i < v->losses.n; i++) {
            const struct mt_loss *l = &v->losses.p[i];
            if (l->count != 0)
                mt_caveat_add(c, "%s: %s %s were lost while recording%s.",
                              mt_driver_who(who, j, d, l->process), mt_words_count(a, l->count),
                              what[l->what < sizeof what / sizeof *what ? l->what : 0],
                              l->what == MT_LO_RECORDS || l->what == MT_LO_CHUNKS
                                  ? "; what they freed or allocated is not in the ledger"
                                  : "");
        }
        for (uint32_t i = 0; i < v->processes.n; i++)
            kept(c, j, d, i);
        for (uint32_t i = 0; i < v->processes.n; i++)
            if (v->processes.p[i].n_missing != 0)
                mt_caveat_add(
                    c, "%s: %s of its chunks are missing: the sums after them may be off.",
                    mt_driver_who(who, j, d, i), mt_words_count(a, v->processes.p[i].n_missing));
        for (uint32_t i = 0; i < v->attachments.n; i++)
            if (v->attachments.p[i].read < v->attachments.p[i].bytes)
                mt_caveat_add(c, "%.200s, which was attached, is not whole: %s of %s bytes.",
                              mt_str(j->drivers.p[d], v->attachments.p[i].name),
                              mt_words_count(a, v->attachments.p[i].read),
                              mt_words_count(who, v->attachments.p[i].bytes));
    }
}

static void ledger_caveats(struct mt_caveats *c, const struct mt_driverdiag *j)
{
    char a[40], b[32], used[32];
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        const struct mt_ledger *l = &j->ledgers.p[i];
        if (l->checks.n == 0)
            mt_caveat_add(c,
                          "%s: its used memory was never sampled, so what recorded calls do "
                          "not explain is not known.",
                          l->name);
        else if (l->checks_are_mem_info)
            mt_caveat_add(c,
                          "%s: no NVML sample; its used memory is what cuMemGetInfo said, and "
                          "other processes cannot be told.",
                          l->name);
        if (l->foreign_pids)
            mt_caveat_add(c,
                          "%s: NVML names processes by ids of another pid namespace, so other "
                          "processes cannot be told from this job; what "
                          "they hold is in \"unexplained\".",
                          l->name);
        if (l->capacity != 0 && l->max_unexplained > l->capacity / 5)
            mt_caveat_add(c, "%s: at one sample %s were not explained by recorded calls.", l->name,
                          mt_words_bytes(a, l->max_unexplained));
        if (l->managed_peak != 0)
            mt_caveat_add(c,
                          "%s: up to %s of managed memory, which may be on the device or the "
                          "host, is in no sum.",
                          l->name, mt_words_bytes(a, l->managed_peak));
        if (l->pool_size > l->pool_used)
            mt_caveat_add(c,
                          "%s: a memory pool (cudaMallocAsync) held %s with %s in use; the "
                          "difference is in \"unexplained\".",
                          l->name, mt_words_bytes(b, l->pool_size),
                          mt_words_bytes(used, l->pool_used));
    }
}

void mt_caveats_of_driver(struct mt_caveats *c, const struct mt_driverdiag *j)
{
    char who[MT_WHO], a[32];
    for (uint32_t d = 0; d < j->drivers.n; d++)
        mt_caveats_of_trace(c, j->drivers.p[d]);
    statuses(c, j);
    attached(c, j);
    mt_caveats_of_torch(c, j);
    losses(c, j);
    ledger_caveats(c, j);
    for (uint32_t i = 0; i < j->processes.n; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        if (p->n_unmatched_frees != 0)
            mt_caveat_add(c,
                          "%s: %s free%s or unmap%s of memory that was not seen allocated: "
                          "recording began later, or lost calls.",
                          mt_driver_who(who, j, p->driver, p->process),
                          mt_words_count(a, p->n_unmatched_frees),
                          p->n_unmatched_frees == 1 ? "" : "s",
                          p->n_unmatched_frees == 1 ? "" : "s");
        if (p->n_lost_frees != 0)
            mt_caveat_add(c,
                          "%s: %s allocation%s at an address that was still held: frees were "
                          "not seen.",
                          mt_driver_who(who, j, p->driver, p->process),
                          mt_words_count(a, p->n_lost_frees), p->n_lost_frees == 1 ? "" : "s");
    }
    for (uint32_t i = 0; i < j->reconciled.n; i++)
        if (!j->reconciled.p[i].adds_up)
            mt_caveat_add(
                c, "%s: the snapshot and the driver's calls do not add up.",
                mt_driver_who(who, j, j->reconciled.p[i].driver, j->reconciled.p[i].process));
}
