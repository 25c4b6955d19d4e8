/* run/same_job_impl.h -- between run/same_job.c, which tells jobs apart, and
 * run/same_job_sentences.c, which says so. */
#ifndef MT_SAME_JOB_IMPL_H
#define MT_SAME_JOB_IMPL_H

#include "analysis/run/same_job.h"

#include <string.h>

#define MT_SAME_GROUPS 16u /* more are not told apart: their files are "of any of them" */

enum mt_same_job_why {
    MT_SAME_ONE, /* nothing contradicts */
    MT_SAME_PIDS,
    MT_SAME_HOSTS,
    MT_SAME_STARTS, /* both begin in an empty process */
    MT_SAME_FRAMEWORKS,
    MT_SAME_SLURM,
    MT_SAME_TIMES /* of two recordings of the driver */
};
struct mt_same_job_file {
    const struct mt_trace *t;
    char *path;    /* "runs/a/rank_3/x.pickle", "runs.tar.gz/a/rank_3/x.pickle" */
    size_t folder; /* of it: "runs/a", without parts that say the rank */
    int32_t rank;
    int64_t pid;
    const char *host, *slurm;               /* NULL = not known */
    const struct mt_framework_rules *rules; /* NULL of a driver's trace */
    mt_fw framework;
    uint64_t first_ns, last_ns;
    /* 1 << enum mt_phase, training and scoring: what it is there for. Two processes that have one
     * of these in common are not actor and critic, or trainer and engine. */
    uint64_t work;
    /* of them, those that tell actor, critic and reference apart where there may be several */
    uint64_t named_work;
    bool began_empty;
    uint32_t group; /* MT_SAME_GROUPS = not told */
};
struct mt_same_job_work {
    const struct mt_same_job_in *in;
    struct mt_same_job_file *file; /* snapshots, then driver traces */
    uint32_t n, n_groups;
    enum mt_same_job_why why; /* the first contradiction: of a and b */
    uint32_t a, b, n_why, last_why;
};
enum mt_same_job_why mt_same_job_contradict(const struct mt_same_job_file *a,
                                            const struct mt_same_job_file *b);
static inline bool mt_same_job_folder(const struct mt_same_job_file *a,
                                      const struct mt_same_job_file *b)
{
    return a->folder == b->folder && memcmp(a->path, b->path, a->folder) == 0;
}
/* false = out of memory */
bool mt_same_job_say(struct mt_same_job *j, const struct mt_same_job_work *k);

#endif
