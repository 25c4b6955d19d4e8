#include "parser/base/team.h"

#include "parser/base/mem.h"

#include <pthread.h>
#include <signal.h>

struct queue {
    struct mt_team_job *first, *last;
};

struct mt_team {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct queue urgent, other;
    bool ends;
    uint32_t n_tokens; /* taken */
    uint32_t n;
    pthread_t thread[];
};

static struct mt_team_job *pop(struct queue *q)
{
    struct mt_team_job *job = q->first;
    if (job != NULL && (q->first = job->next) == NULL)
        q->last = NULL;
    return job;
}

static void *work(void *arg)
{
    struct mt_team *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct mt_team_job *job = pop(&p->urgent);
        if (job == NULL)
            job = pop(&p->other);
        if (job == NULL && p->ends)
            break;
        if (job == NULL) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        job->run(job);
        pthread_mutex_lock(&p->lock);
        job->is_done = true;
        pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct mt_team *mt_team_new(uint32_t n)
{
    struct mt_team *p = mt_calloc(1, sizeof *p + n * sizeof p->thread[0]);
    sigset_t all, before;
    if (p == NULL)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    sigfillset(&all); /* the main thread cleans up after a signal */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->n < n && pthread_create(&p->thread[p->n], NULL, work, p) == 0)
        p->n++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->n != 0)
        return p;
    mt_team_free(p);
    return NULL;
}

void mt_team_free(struct mt_team *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->n; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    mt_free(p);
}

uint32_t mt_team_threads(const struct mt_team *p) { return p->n; }

void mt_team_give(struct mt_team *p, struct mt_team_job *job, bool is_urgent)
{
    struct queue *q = is_urgent ? &p->urgent : &p->other;
    job->next = NULL;
    pthread_mutex_lock(&p->lock);
    job->is_done = false;
    if (q->last != NULL)
        q->last->next = job;
    else
        q->first = job;
    q->last = job;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
}

void mt_team_wait(struct mt_team *p, const struct mt_team_job *job)
{
    pthread_mutex_lock(&p->lock);
    while (!job->is_done)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

bool mt_team_done(struct mt_team *p, const struct mt_team_job *job)
{
    bool is;
    pthread_mutex_lock(&p->lock);
    is = job->is_done;
    pthread_mutex_unlock(&p->lock);
    return is;
}

bool mt_team_take(struct mt_team *p)
{
    bool is;
    pthread_mutex_lock(&p->lock);
    is = p->n_tokens < p->n;
    p->n_tokens += is;
    pthread_mutex_unlock(&p->lock);
    return is;
}

void mt_team_take_more(struct mt_team *p)
{
    pthread_mutex_lock(&p->lock);
    p->n_tokens++;
    pthread_mutex_unlock(&p->lock);
}

void mt_team_return(struct mt_team *p)
{
    pthread_mutex_lock(&p->lock);
    p->n_tokens--;
    pthread_mutex_unlock(&p->lock);
}
