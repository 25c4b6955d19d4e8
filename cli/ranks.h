/* ranks.h -- the ranks that are being analysed, beside each other where there is a pool. */
#ifndef MT_RANKS_H
#define MT_RANKS_H

#include "analysis/run/diagnose.h"
#include "parser/base/team.h"
#include "render/pack/pack.h"

struct mt_rank_task;

/* One that could not be analysed. */
struct mt_rank_failure {
    char *label;
    struct mt_err err;
};

struct mt_ranks {
    struct mt_diagnosis *diagnosis;
    struct mt_team *pool;          /* NULL = each is analysed as it comes */
    uint64_t max_size;             /* of the report, for its page; 0 = no page */
    bool all_whole;                /* however many there are; else run/brief.h */
    MT_VEC(struct mt_packs) packs; /* by order of the snapshots, for a page */
    /* In the order of the inputs, whoever was done first. */
    MT_VEC(struct mt_rank_failure) failed;
    struct mt_rank_task *first, *last;
    uint32_t n; /* of them */
    bool no_memory;
};

/* Takes over a snapshot or a driver's trace, and with a pool its token. As mt_diagnosis_add(), but
 * a snapshot that cannot be analysed comes to `failed`. */
enum mt_rc mt_ranks_add(struct mt_ranks *r, struct mt_trace *t, const char *label,
                        struct mt_err *err);
/* Waits for all; arg is a struct mt_ranks. no_memory may be set. */
void mt_ranks_wait(void *arg);
void mt_ranks_done(struct mt_ranks *r); /* also in the middle */

#endif
