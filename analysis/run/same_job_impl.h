/* run/same_job_impl.h -- between run/same_job.c, which tells jobs apart, and run/same_job_words.c, which says so. */
#ifndef MT_JOB_SAME_IMPL_H
#define MT_JOB_SAME_IMPL_H

#include "analysis/run/same_job.h"

#define MT_JOBS_GROUPS 16u /* more are not told apart: their files are "of any of them" */

enum mt_jobs_why {
    MT_JOBS_ONE, /* nothing contradicts */
    MT_JOBS_PIDS,
    MT_JOBS_HOSTS,
    MT_JOBS_STARTS, /* both begin in an empty process */
    MT_JOBS_FRAMEWORKS,
    MT_JOBS_SLURM,
    MT_JOBS_TIMES /* of two recordings of the driver */
};
struct mt_jobs_file {
    const struct mt_trace *t;
    char *path;    /* "runs/a/rank_3/x.pickle", "runs.tar.gz/a/rank_3/x.pickle" */
    size_t folder; /* of it: "runs/a", without parts that say the rank */
    int32_t rank;
    int64_t pid;
    const char *host, *slurm; /* NULL = not known */
    enum mt_framework framework;
    uint64_t first_ns, last_ns;
    unsigned work;       /* bits: what it is there for */
    unsigned named_work; /* of them, those that tell actor, critic and reference apart where there may be several */
    bool began_empty;
    uint32_t group; /* MT_JOBS_GROUPS = not told */
};
struct mt_jobs_work {
    const struct mt_jobs_in *in;
    struct mt_jobs_file *file; /* snapshots, then driver traces */
    uint32_t n, n_groups;
    enum mt_jobs_why why; /* the first contradiction: of a and b */
    uint32_t a, b, n_why, last_why;
};
enum mt_jobs_why mt_jobs_contradict(const struct mt_jobs_file *a, const struct mt_jobs_file *b);
bool mt_jobs_same_folder(const struct mt_jobs_file *a, const struct mt_jobs_file *b);
/* false = out of memory */
bool mt_jobs_say(struct mt_jobs *j, const struct mt_jobs_work *k);

#endif
