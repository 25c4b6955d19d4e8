#include "cli/ranks.h"

#include "analysis/run/brief.h"
#include "parser/model/driver.h"

#include <string.h>

struct mt_rank_task {
    struct mt_team_job job; /* first: it is what the pool knows of a task */
    struct mt_rank_task *next;
    struct mt_rank_job *rank;
    struct mt_packs packs;
    char *label;
    enum mt_rc rc;
    struct mt_err err;
};

static void run(struct mt_team_job *job)
{
    struct mt_rank_task *k = (struct mt_rank_task *)job;
    memset(&k->err, 0, sizeof k->err);
    k->rc = mt_rank_job_run(k->rank, &k->err);
}

static void task_free(struct mt_rank_task *k)
{
    mt_rank_job_free(k->rank);
    mt_packs_done(&k->packs);
    mt_free(k->label);
    mt_free(k);
}

/* Memory ran out beside others: once more, alone. */
static void run_again(struct mt_ranks *r, struct mt_rank_task *k)
{
    uint64_t max_size = k->packs.max_size;
    for (struct mt_rank_task *other = r->first; other != NULL; other = other->next)
        mt_team_wait(r->pool, &other->job);
    mt_packs_done(&k->packs);
    memset(&k->packs, 0, sizeof k->packs);
    k->packs.max_size = max_size;
    run(&k->job);
}

static void keep_failure(struct mt_ranks *r, struct mt_rank_task *k)
{
    struct mt_rank_failure *f = MT_VEC_PUSH(&r->failed);
    if (f == NULL) {
        r->no_memory = true;
        return;
    }
    *f = (struct mt_rank_failure){k->label, k->err};
    k->label = NULL;
}

/* Of very many ranks most are kept in brief, and no page has their events. */
static void shorten(struct mt_ranks *r)
{
    uint32_t order;
    while (!r->all_whole && (order = mt_brief_next(r->diagnosis)) != MT_NONE32)
        if (order < r->packs.n)
            mt_packs_done(&r->packs.p[order]);
}

/* The first task, which is done, becomes a rank. */
static void take_first(struct mt_ranks *r)
{
    struct mt_rank_task *k = r->first;
    struct mt_packs *slot = NULL;
    if (k->rc == MT_ENOMEM && r->pool != NULL)
        run_again(r, k);
    if ((r->first = k->next) == NULL)
        r->last = NULL;
    r->n--;
    if (r->pool != NULL)
        mt_team_return(r->pool);
    k->rc = mt_diagnosis_end(r->diagnosis, k->rank, k->rc, &k->err);
    k->rank = NULL;
    if (k->rc < 0)
        keep_failure(r, k);
    else if (r->max_size != 0 && (slot = MT_VEC_PUSH(&r->packs)) == NULL)
        r->no_memory = true;
    if (slot != NULL) {
        *slot = k->packs;
        memset(&k->packs, 0, sizeof k->packs);
    }
    task_free(k);
    shorten(r);
}

static void append(struct mt_ranks *r, struct mt_rank_task *k)
{
    if (r->last != NULL)
        r->last->next = k;
    else
        r->first = k;
    r->last = k;
    r->n++;
}

enum mt_rc mt_ranks_add(struct mt_ranks *r, struct mt_trace *t, const char *label,
                        struct mt_err *err)
{
    struct mt_rank_task *k = mt_calloc(1, sizeof *k);
    struct mt_detail_hook detail = {mt_pack_device, NULL};
    enum mt_rc rc = MT_ENOMEM;
    if (k != NULL)
        k->label = mt_strndup(label, strlen(label));
    if (k == NULL || k->label == NULL) {
        mt_trace_free(t);
        rc = mt_fail(err, MT_ENOMEM, "out of memory; raise --max-memory");
        goto out;
    }
    if (mt_diagnosis_settles(t))
        mt_ranks_wait(r);
    k->job.run = run;
    k->packs.max_size = r->max_size;
    k->packs.waits = r->first == NULL && r->packs.n == 0; /* mostly it is the only one */
    detail.arg = &k->packs;
    rc = mt_diagnosis_begin(r->diagnosis, &k->rank, t, r->max_size != 0 ? &detail : NULL, err);
    if (k->rank == NULL)
        goto out;
    append(r, k);
    if (r->pool == NULL) {
        run(&k->job);
        take_first(r);
        return MT_OK;
    }
    mt_team_give(r->pool, &k->job, true);
    while (r->first != NULL &&
           (r->n > mt_team_threads(r->pool) || mt_team_done(r->pool, &r->first->job))) {
        mt_team_wait(r->pool, &r->first->job);
        take_first(r);
    }
    return MT_OK;
out:
    if (k != NULL)
        task_free(k);
    if (r->pool != NULL)
        mt_team_return(r->pool);
    return rc;
}

void mt_ranks_wait(void *arg)
{
    struct mt_ranks *r = arg;
    while (r->first != NULL) {
        if (r->pool != NULL)
            mt_team_wait(r->pool, &r->first->job);
        take_first(r);
    }
}

void mt_ranks_done(struct mt_ranks *r)
{
    while (r->first != NULL) {
        struct mt_rank_task *k = r->first;
        if (r->pool != NULL) {
            mt_team_wait(r->pool, &k->job);
            mt_team_return(r->pool);
        }
        r->first = k->next;
        task_free(k);
    }
    for (uint32_t i = 0; i < r->failed.n; i++)
        mt_free(r->failed.p[i].label);
    MT_VEC_DONE(&r->failed);
    for (uint32_t i = 0; i < r->packs.n; i++)
        mt_packs_done(&r->packs.p[i]);
    MT_VEC_DONE(&r->packs);
}
