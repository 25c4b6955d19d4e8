/* run/same_job.h -- whether the inputs of a report are of one job, and which of its ranks are
 * there.
 *
 * Inputs are of different jobs where they contradict each other: one rank is two processes that do
 * the same work, two recordings of it both begin in an empty process, frames are of two frameworks
 * of reinforcement learning, recordings of the driver do not overlap in time or name two Slurm
 * jobs. A rank that occurs twice is none by itself: actor and critic, trainer and engine, two dumps
 * of one process all count from 0. */
#ifndef MT_SAME_JOB_H
#define MT_SAME_JOB_H

#include "analysis/facts/analysis.h"
#include "analysis/log/diagnose.h"

struct mt_same_job_in {
    const struct mt_trace *const *traces; /* snapshots, by rank */
    const struct mt_analysis *const *analyses;
    uint32_t n;
    const struct mt_trace *const *drivers;
    uint32_t n_drivers;
    const struct mt_logs *logs;    /* NULL = none */
    const struct mt_runconf *conf; /* NULL = none */
    uint32_t primary;              /* of traces: what the verdict is about */
    uint64_t capacity_else;        /* of memtrace.toml, where no option says it; 0 = none */
};

struct mt_same_job_group {
    char *names;  /* "runA", "runB (8 files)"; or its files, where folders do not tell them apart */
    uint32_t n;   /* snapshots and driver traces */
    bool verdict; /* what the report's verdict is about */
};

struct mt_same_job {
    char *sentence;  /* what contradicts, and what to do; NULL = nothing does */
    char *doubt;     /* what may be two jobs and cannot be told; NULL = nothing */
    char *elsewhere; /* a log says that memory ran out on a rank whose snapshot is not here, and no
                        snapshot failed; NULL = no */
    char *card;      /* a size of the card that cannot be that of the verdict's; NULL = none */
    char *missing;   /* ranks of the job without a snapshot; NULL = none is known to be missing */
    MT_VEC(struct mt_same_job_group)
    groups;            /* two or more where something contradicts, else none */
    uint32_t n_untold; /* files that may be of any of them */
};
/* Events may have been dropped. MT_OK or MT_ENOMEM. */
enum mt_rc mt_same_job_make(struct mt_same_job **out, const struct mt_same_job_in *in,
                            struct mt_err *err);
void mt_same_job_free(struct mt_same_job *j); /* NULL is fine */

#endif
