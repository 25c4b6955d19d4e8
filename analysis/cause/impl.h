/* cause/impl.h -- the moment of the failure as cause*.c look at it: live blocks with their roles,
 * laid out in their segments. */
#ifndef MT_CAUSE_IMPL_H
#define MT_CAUSE_IMPL_H

#include "analysis/cause/cause.h"
#include "analysis/roles/rules.h"

/* A live block of the moment. */
struct mt_held {
    uint64_t addr, size, room; /* requested bytes; bytes of the block */
    uint64_t event;            /* of its allocation; UINT64_MAX = before the trace */
    mt_stack_id stack;
    struct mt_attr attr;
    uint8_t role, life;
    bool pending;  /* free requested, not completed */
    bool drop;     /* left out by the counter-factual at hand */
    uint32_t span; /* that it lies in; UINT32_MAX = none known */
};

/* Blocks of one stack that a pass without steps adds one by one and keeps. n 0 = there are none. */
struct mt_kept {
    mt_stack_id stack;
    uint32_t n;
    uint64_t bytes, each; /* all of them; the smallest */
    uint64_t first, last; /* events of the first and the last birth */
};

struct mt_moment {
    const struct mt_roles *w;
    const struct mt_role_facts *f;
    const struct mt_device_analysis *d;
    const struct mt_oom *oom; /* NULL = nothing failed */
    struct mt_wish wish;
    enum mt_phase phase; /* coarse, of the failure or the peak */
    enum mt_phase sub;
    uint64_t began; /* first event of the stretch of that phase */
    struct mt_held *held;
    uint32_t n_held, cap_held; /* by address */
    struct mt_span *span;
    uint32_t n_span;
    bool laid_out;                   /* spans mean something */
    uint64_t role[MT_ROLE_COUNT];    /* live bytes */
    uint64_t engine, engine_private; /* KV cache and engine weights; of it in private pools */
    /* of the trainer, and of no use in a rollout: mt_is_trainers() */
    uint64_t training;
    uint64_t temporaries;              /* of this stretch of the phase */
    uint64_t pending, residue, growth; /* growth: between the first and the last compared step */
    struct mt_kept kept;
    /* reserved + free on the device: what this process and the device's rest make up */
    uint64_t visible;
    /* capacity - visible, and visible - capacity, whichever is positive; 0 without a capacity */
    uint64_t outside, absent;
};

/* Fills the moment; needs mt_moment_done(). 0 = out of memory. */
int mt_moment_make(struct mt_moment *m, const struct mt_roles *w, const struct mt_role_facts *f,
                   const struct mt_device_analysis *d, struct mt_phaser *ph);
void mt_moment_done(struct mt_moment *m);
/* The blocks of a moment at which nothing failed, which mt_moment_make() leaves out. 0 = out of
 * memory. */
int mt_moment_fill(struct mt_moment *m, struct mt_phaser *ph);
/* What is live of the largest role, growth from step to step; the rest of `next` and, where the
 * card was all but full or something grows, the cause with its evidence and sentence. 0 = out of
 * memory. */
int mt_cause_next(struct mt_cause *c, struct mt_moment *m, struct mt_phaser *ph);

/* Whether the request would fit without the blocks marked `drop`: into a hole, or on the device,
 * counting whole segments that become empty (whole pages of expandable ones). Where the segments
 * are not known, sizes alone decide. */
struct mt_fit {
    bool fits;
    uint64_t dropped;  /* requested bytes of those blocks */
    uint64_t returned; /* of segments that become empty */
    uint64_t short_by;
};
struct mt_fit mt_moment_fit(const struct mt_moment *m);
/* bytes of the segment that a request needs */
uint64_t mt_moment_need(const struct mt_moment *m, uint64_t request);
bool mt_moment_pool_private(const struct mt_moment *m, const struct mt_held *h);

/* cause/kept.c: fills m->kept from the live blocks of the failure. 0 = out of memory. */
int mt_moment_kept(struct mt_moment *m);

/* Segments with free bytes that live blocks hold: into c->pins. 0 = out of memory. */
int mt_moment_pins(const struct mt_moment *m, struct mt_cause *c);

/* The request read as tokens x vocabulary / split x element, against the vocabulary of the logits
 * in the trace, else, where the request is made in the loss or by frames of logits, against known
 * ones. elem 0 = it has no such shape. */
struct mt_shape {
    uint64_t tokens, vocab, split, elem;
    const char *models; /* that have this vocabulary; NULL = it is the trace's own */
};
void mt_shape_of(const struct mt_moment *m, const struct mt_role_rules *rules,
                 struct mt_shape *out);

/* Optimizer state and gradients; with them, beside an engine that has weights of its own, the
 * parameters. */
static inline bool mt_is_trainers(const struct mt_moment *m, unsigned role)
{
    return role == MT_ROLE_OPTIM_STATE || role == MT_ROLE_GRAD ||
           (role == MT_ROLE_PARAM && m->role[MT_ROLE_ENGINE_WEIGHTS] != 0 &&
            m->role[MT_ROLE_OPTIM_STATE] + m->role[MT_ROLE_GRAD] != 0);
}
/* Neither model nor state nor engine: it should not outlive its stretch of a phase. */
static inline bool mt_is_transient(unsigned role)
{
    return role == MT_ROLE_ACTIVATION || role == MT_ROLE_RECOMPUTE || role == MT_ROLE_LOGITS ||
           role == MT_ROLE_TEMP || role == MT_ROLE_OPTIM_TEMP;
}

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int mt_cause_evidence_add(struct mt_cause *c, uint64_t bytes, const char *fmt, ...); /* of the moment of the cause */
/* the last one is about that stretch */
void mt_cause_evidence_at(struct mt_cause *c, uint64_t since, uint64_t event);
/* evidence: the stacks that grow */
int mt_cause_of_growth(struct mt_cause *c, const struct mt_moment *m);
/* cause/evidence.c: the sentence, evidence and counter-factuals once the kind is decided. 0 = out
 * of memory. */
int mt_cause_say(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape);
const char *mt_cause_trainers(const struct mt_moment *m); /* what m->training consists of */
int mt_cause_evidence(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape);
int mt_cause_what_ifs(struct mt_cause *c, struct mt_moment *m);
const struct mt_what_if *mt_cause_what_if(const struct mt_cause *c, const char *id);

#endif
