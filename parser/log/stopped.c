/* log/stopped.c -- a scheduler that stops a job for a reason of its own: its processes are killed
 * then, and memory has nothing to do with it. */
#include "parser/log/match.h"

#include <string.h>

/* Why, of the words behind "CANCELLED AT ... DUE TO": slurm, src/slurmd/slurmstepd/req.c. */
static const struct {
    const char *words;
    enum mt_log_stop why;
} reasons[] = {
    {"TIME LIMIT", MT_LS_TIME},
    {"PREEMPTION", MT_LS_PREEMPTED},
    {"NODE FAIL", MT_LS_NODE},
    {"JOB REQUEUE", MT_LS_REQUEUED},
};

/* Other schedulers: PBS, LSF, Kubernetes. */
static const struct {
    const char *words, *and;
    enum mt_log_stop why;
} others[] = {
    {"job killed: walltime ", NULL, MT_LS_TIME}, {"TERM_RUNLIMIT", NULL, MT_LS_TIME},
    {"TERM_PREEMPT", NULL, MT_LS_PREEMPTED},     {"TERM_OWNER", NULL, MT_LS_CANCELLED},
    {"DeadlineExceeded", "Job", MT_LS_TIME},
};

static enum mt_log_stop by_slurm(const char *s)
{
    const char *step = strstr(s, "*** STEP "), *job = step == NULL ? strstr(s, "*** JOB ") : step,
               *at = job != NULL ? strstr(job, " CANCELLED AT ") : NULL,
               *due = at != NULL ? strstr(at, " DUE TO ") : NULL;
    if (at == NULL)
        return MT_LS_NONE;
    for (size_t i = 0; due != NULL && i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(due + 8, reasons[i].words, strlen(reasons[i].words)) == 0)
            return reasons[i].why;
    return step != NULL ? MT_LS_STEP : MT_LS_CANCELLED;
}

int mt_log_stopped(struct mt_log *l, uint64_t number, const char *s)
{
    enum mt_log_stop why = by_slurm(s);
    struct mt_log_fact *f;
    for (size_t i = 0; why == MT_LS_NONE && i < sizeof others / sizeof *others; i++)
        if (strstr(s, others[i].words) != NULL &&
            (others[i].and == NULL || strstr(s, others[i].and) != NULL))
            why = others[i].why;
    if (why == MT_LS_NONE)
        return 0;
    f = mt_log_add(l, MT_LOG_STOPPED, number, s);
    if (f != NULL)
        f->value[0] = (uint64_t)why;
    return 1;
}
