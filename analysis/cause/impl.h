/* cause/impl.h -- the moment of the failure (or of the peak) as this room looks at it: live blocks
 * with their roles, laid out in their segments. Sizes are bytes; functions that return an int
 * return 1, or 0 when memory ran out.
 *
 *   cause.c     which cause it is
 *   moment.c    the blocks of the moment, and whether the request fits without some of them
 *   to_come.c   what the pass or step had still to ask for
 *   scale.c     what an earlier pass went on to, in the sizes of the one at hand
 *   next_round.c  what the rest of a loop asks for, as its round before did
 *   same_call.c what the function that asks went on to in an earlier call
 *   as_before.c what the pass has beyond earlier ones at the same request
 *   result.c    the result of the pass before, which is still alive
 *   graph.c     what autograd keeps of passes that no backward pass follows
 *   retained.c  what passes that their backward pass followed keep all the same
 *   bypassed.c  what other backward passes went by and could not let go of
 *   kept.c      blocks that a pass without steps adds one by one and keeps
 *   unclaimed.c the line with most of what has no role or is the job's own, where no role has more
 *   rounds.c    what the job keeps of each of its rounds
 *   hoard.c     blocks that a line outside of any pass made and kept, most of what is live
 *   copies.c    copies of the weights or gradients, each set by one line
 *   remade.c    what the request makes anew while the one before is still there
 *   spread.c    what an operation made much larger than anything that was there
 *   parts.c     what is there twice: joined, or in a wider type
 *   maker.c     the line that made most of it, and the loop that goes through it
 *   old_state.c state of optimizers that were replaced
 *   copy_words.c  what is said of these three
 *   named.c     what names of functions at work may hold
 *   pieces.c    what recomputing frees, call by call
 *   outlived.c  what has outlived many others that its line made
 *   least.c     the smallest change by the numbers
 *   shape.c     the request read as tokens x vocabulary
 *   forecast.c  where nothing failed: what would be the first to
 *   what_if.c   the counter-factuals
 *   evidence.c  the evidence
 *   skew.c      one device beside the others of its job
 *   sentence.c  the sentence
 *   holder.c    who holds most, in the verdict's words
 *   verdict.c   the verdict: capacity, fragmentation, a limit; needs no roles */
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

/* Blocks that passes without steps add one by one and keep. n 0 = there are none. */
struct mt_kept {
    mt_stack_id stack; /* of most of them */
    uint32_t n, rounds;
    uint64_t bytes, casts; /* casts: of half the size of a weight */
    uint64_t first, last;  /* events of the first and the last birth */
};

/* The request read as tokens x vocabulary / split x element, against the vocabulary of the logits
 * in the trace, else, where the request is made in the loss or by frames of logits, against known
 * ones. elem 0 = it has no such shape. */
struct mt_shape {
    uint64_t tokens, vocab, split, elem; /* elem: bytes of one number */
    const char *models; /* that have this vocabulary; NULL = it is that of the trace's logits */
    bool is_guess;      /* nothing but sizes says which vocabulary it is */
};

/* What the job had still to ask for after the request, at least. kind NONE = not known. */
enum mt_to_come_kind {
    MT_TO_COME_NONE,
    MT_TO_COME_PASS,
    MT_TO_COME_LOGITS,
    MT_TO_COME_STATE,
    MT_TO_COME_ROUND, /* the rest of a loop's round */
    MT_TO_COME_CALL,  /* the rest of the function that asks, as in an earlier call */
    MT_TO_COME_LIST,  /* the rest of a list with a block for each gradient */
    MT_TO_COME_COPY   /* the rest of a second model */
};
struct mt_to_come {
    enum mt_to_come_kind kind;
    uint64_t bytes; /* beyond the request */
    /* of a pass without an earlier one: bytes that a layer adds; of state: blocks for each gradient
     */
    uint64_t each;
    uint64_t so_far; /* that a forward pass, a set-up or a generation has added already */
    uint64_t role[MT_ROLE_COUNT]; /* of the bytes, by what they are for */
    uint32_t layers;              /* that the model has; 0 = not known */
    uint32_t done;                /* such requests of the pass before this one */
    uint32_t all;                 /* and of an earlier pass; 0 = there was none */
    /* the largest request of that place in earlier passes, and how many of these came to it */
    uint64_t before_most;
    uint32_t passes;
    uint64_t like; /* of the pass that `bytes` is reckoned from, where it asked for another size;
                      else 0 */
    /* live bytes that this pass added until the request, and the most that an earlier one had until
     * its request of that number; where that one begins, and has it. 0 = there was none */
    uint64_t pass_now, pass_before, now_first, before_first, before_at;
    uint64_t before_rest; /* what came after the request in that pass, in its own sizes */
    bool grows;           /* each pass asks there for more than the one before */
    bool leaps;           /* by half and more, and each of the few that there are */
    bool open;            /* more may come, and nothing says how much */
};

/* What a loop made in the pass before and lets go of when it has made it anew. */
struct mt_result {
    uint64_t bytes;   /* live at the moment; 0 = none */
    uint64_t first;   /* event of the earliest of them */
    mt_frame_id line; /* that makes the most of it and lets go of it */
    uint32_t micro;   /* micro-batch of the moment; UINT32_MAX = none */
    bool is_of_all;   /* of all passes since the line was come to, not of the last one alone */
};

/* Activations of earlier passes from the same line, with no backward pass after them; or of all
 * earlier passes, which a backward pass followed and that keep their graph all the same. */
struct mt_graph {
    mt_frame_id line;      /* that calls the model; 0 = there are none */
    bool retained;         /* a backward pass followed each of them: of any line */
    bool bypassed;         /* other backward passes, or steps, went by them */
    uint32_t passes;       /* before that of the moment */
    uint64_t since, until; /* events between which they were made */
    uint64_t bytes;        /* live at the moment */
    uint64_t now;          /* activations of the pass at hand */
};

/* What lines outside of the passes keep of each round. bytes 0 = there is no such. */
struct mt_rounds {
    mt_stack_id stack;    /* of most of it */
    uint64_t bytes, each; /* all of it; what the last round added */
    uint64_t grads;       /* of it gradients, without those of the last round */
    uint32_t n;           /* rounds that are there, of the line with the most of them */
};

/* What one line made, is live and has no role, or is data of the job's own; bytes 0 = some other
 * role has more, or no line is known. */
struct mt_unclaimed {
    mt_stack_id stack; /* of most of it */
    uint64_t bytes;
    bool is_data;
};

/* What one line of the job's own code made of the sizes of the weights and is live: copies of the
 * weights, or of their gradients. */
enum mt_copies_kind {
    MT_COPIES_OF_EACH, /* a tensor of each size */
    MT_COPIES_FLAT,    /* one tensor for all of them, or for a part of the model */
    /* made by a forward pass, a tensor of each size, and kept for its backward: in the model's own
       call, or after it, as a term of the loss over the weights has them */
    MT_COPIES_IN_PASS,
    MT_COPIES_IN_LOSS
};
enum { MT_MAX_COPIES = 3 };
struct mt_copies {
    mt_frame_id line;
    enum mt_copies_kind kind;
    bool is_state, asked; /* an optimizer's own; the request is one more of them */
    uint32_t n, tensors;  /* sets, the last of which may be a part; blocks */
    uint64_t bytes, set;  /* of all, of one whole set */
    uint64_t kept, temp;  /* of all, by role: activations, temporaries */
    /* bytes that each of the last `rounds` rounds added; 0 = not alike */
    uint64_t round;
    uint32_t rounds;
};

/* What does not follow the batch: made of the weights, by role; made between calls of a model, once
 * for three calls or more, or in sizes of its own, the request among it. */
struct mt_fixed {
    uint64_t kept, temp, between;
    /* of what is kept and made of the weights: how many lines made it; the one with most of it, its
     * bytes, and how many times as large as a weight each of its tensors is */
    uint64_t most, wide;
    uint32_t lines;
    mt_frame_id line;
};

/* What one line made that `came` others of its size, made later, came and went beside. n 0 = none.
 */
struct mt_outlived {
    mt_stack_id stack;
    uint32_t n, came;
    uint64_t bytes;
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
    /* the same, or of the pass that this backward belongs to: between its forward and it may lie
     * code of the job's own (a loss) that no phase is known of */
    uint64_t pass_began;
    struct mt_held *held;
    uint32_t n_held, cap_held; /* by address */
    struct mt_span *span;
    uint32_t n_span;
    bool laid_out;                   /* spans mean something */
    uint64_t role[MT_ROLE_COUNT];    /* live bytes */
    uint64_t engine, engine_private; /* KV cache and engine weights; of it in private pools */
    /* of the trainer, and of no use in a rollout: mt_is_trainers() */
    uint64_t training;
    uint64_t temporaries; /* born in this stretch of the phase */
    uint64_t pending;     /* freed by the program, not yet by the stream */
    uint64_t residue;     /* temporaries of earlier stretches */
    uint64_t last_made;   /* event of the last block before the request, which may read it */
    uint64_t named;       /* activations that names of functions at work may hold, at most */
    uint64_t growth;      /* between the first and the last compared step */
    uint64_t sure_growth; /* of that, where it is certain: five steps or more, nearly on a line */
    struct mt_kept kept, hoard;
    struct mt_kept past_caches; /* keys and values of rows of passes that are over */
    uint64_t open_bytes;        /* of earlier calls of one line */
    uint32_t open_calls;        /* how many they are */
    mt_stack_id open_stack;     /* of a block of the last of them */
    bool open; /* a backward pass behind all that calls kept may be to come: none of it is a leak */
    struct mt_rounds rounds;
    struct mt_outlived outlived;
    struct mt_unclaimed unclaimed;
    struct mt_copies copies[MT_MAX_COPIES]; /* the most first */
    uint32_t n_copies;
    uint64_t old_state;  /* of optimizers that were replaced; 0 = none */
    uint32_t state_each; /* blocks that an optimizer makes for a weight; 0 = not known */
    uint64_t remade;     /* one block that the request would take the place of; 0 = none */
    mt_stack_id
        remade_by; /* a later line of the same function that made it; 0 = the line that asks */
    struct mt_fixed fixed;
    struct mt_made made[MT_MADE];
    uint32_t n_made;
    struct mt_maker maker;
    uint64_t alike;   /* of what is no model's or optimizer's, what has the request's own size */
    uint64_t regrown; /* one tensor to which the request would join something; 0 = none */
    struct mt_to_come to_come;
    /* what the pass has beyond earlier ones at that point, 0 = no such difference; the line with
     * most of it, 0 = none, and its bytes now and then */
    uint64_t more, more_now, more_before;
    uint64_t apart; /* bytes of lines that grew where others did not: no batch makes them less */
    mt_frame_id more_line;
    struct mt_result result;
    struct mt_graph graph;
    /* by stack: the line at which its blocks are let go of for the next ones; NULL = not known */
    mt_frame_id *result_line;
    /* by stack, the line that calls its model, 0 = it lies in no such call; by line, the event + 1
     * at which it was last come to before the moment */
    mt_frame_id *call_of;
    uint32_t *call_began;
    /* by line, the most of its calls that one backward pass followed; NULL = not known */
    uint32_t *call_most;
    /* reserved + free on the device: what this process and the device's rest make up */
    uint64_t visible;
    /* capacity - visible, and visible - capacity, whichever is positive; 0 without a capacity */
    uint64_t outside, absent;
};

/* Fills the moment, of the first failure or else of the peak. mt_moment_done() frees it, after a
 * failure as well. */
int mt_moment_make(struct mt_moment *m, const struct mt_roles *w, const struct mt_role_facts *f,
                   const struct mt_device_analysis *d, struct mt_phaser *ph);
void mt_moment_done(struct mt_moment *m);
/* Adds the blocks of a moment at which nothing failed: mt_moment_make() leaves them out. */
int mt_moment_fill(struct mt_moment *m, struct mt_phaser *ph);
/* Fills c->next. Where the card was all but full or something grows, also the cause, its evidence
 * and its sentence. */
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
/* Takes the answer back where `have` bytes are not enough for the state that the step had still to
 * make beyond the `need` of the request. */
void mt_moment_all_fit(const struct mt_moment *m, struct mt_fit *f, uint64_t have, uint64_t need);
/* bytes of the segment that a request needs */
uint64_t mt_moment_need(const struct mt_moment *m, uint64_t request);
bool mt_moment_pool_private(const struct mt_moment *m, const struct mt_held *h);

/* Fills m->result. */
int mt_moment_result(struct mt_moment *m);
/* Whether the block born at that event, live at the moment, is of it. */
bool mt_is_last_result(const struct mt_moment *m, uint64_t event);
/* Fills m->outlived. */
int mt_moment_outlived(struct mt_moment *m);
/* Fills m->graph; after mt_moment_result(). */
int mt_moment_graph(struct mt_moment *m);
/* Fills m->graph where mt_moment_graph() left it empty. */
void mt_moment_retained(struct mt_moment *m);
/* Likewise, after mt_moment_retained(). */
int mt_moment_bypassed(struct mt_moment *m);
/* How much is left of what a pass made, by number of blocks. */
struct mt_rest_of_pass {
    uint32_t made, live;
    uint64_t bytes;
};
/* Whether a graph holds them. */
bool mt_is_of_graph(const struct mt_rest_of_pass *p);
/* Whether the block born at that event is of it. */
bool mt_is_unused_graph(const struct mt_moment *m, uint64_t event);

/* Fills m->to_come, where something failed. */
int mt_moment_to_come(struct mt_moment *m, const struct mt_shape *shape);

/* An earlier pass, from its first event to its last; the event at which it made the request; the
 * first event of the pass at hand. */
struct mt_rest {
    uint64_t first, at, last, now_first;
    bool is_first; /* of all such passes */
};
/* Whether the block born at that event is still live at the failure. In a first step, that is made
 * once, as state is: it does not come again after the same request. */
static inline bool mt_is_kept_on(const struct mt_moment *m, uint64_t event)
{
    return m->w->fate[event].freed >= m->oom->event;
}
/* How far its live bytes rose from that request on, of it by role, in the sizes of the pass at
 * hand.
 */
int mt_rest_scaled(const struct mt_moment *m, const struct mt_rest *p, uint64_t *bytes,
                   int64_t role[MT_ROLE_COUNT]);

/* What is to come is for what the rise was for that tells it. */
void mt_to_come_share(struct mt_to_come *t, const int64_t role[MT_ROLE_COUNT]);
/* Fills m->to_come by the round of a loop before, behind the event `first`, where one tells. */
int mt_moment_next_round(struct mt_moment *m, uint64_t first);
/* The same by an earlier call of the function that asks, where nothing else tells. */
int mt_moment_same_call(struct mt_moment *m);

/* The line that a stack was made at, as owners go by it; 0 = none is known. known: by stack, what
 * was found, + 1; zeroed at first. */
mt_frame_id mt_moment_line(const struct mt_moment *m, mt_stack_id s, uint32_t *known);

/* fixed.c: fills m->fixed. */
int mt_moment_fixed(struct mt_moment *m);
int mt_moment_named(struct mt_moment *m); /* fills m->named */

/* Fills m->more and what goes with it; after mt_moment_to_come(). */
int mt_moment_as_before(struct mt_moment *m);
/* Whether the request is many times what its place asked for before, and would have fitted in that
 * size. */
bool mt_asks_far_more(const struct mt_moment *m);

/* Fills m->kept from the live blocks of the failure. */
int mt_moment_kept(struct mt_moment *m);

/* Fills m->unclaimed. */
int mt_moment_unclaimed(struct mt_moment *m);

/* Fills m->rounds; after mt_moment_result() and mt_moment_to_come(), which they leave open. */
int mt_moment_rounds(struct mt_moment *m);

/* Fills m->hoard; after mt_moment_result(). */
int mt_moment_hoard(struct mt_moment *m);

/* Fills m->copies. */
int mt_moment_copies(struct mt_moment *m);

/* Fills *out, which is zeroed: for the focus, whether or not something failed. */
int mt_cause_pieces(struct mt_pieces *out, const struct mt_roles *w,
                    const struct mt_device_analysis *d);

/* Fills c->least: of a failure, or of the highest point. */
int mt_cause_least(struct mt_cause *c, const struct mt_moment *m);

/* Fills m->old_state. */
int mt_moment_old_state(struct mt_moment *m);

/* Fills m->remade; after mt_moment_result(), mt_moment_graph() and mt_moment_kept(). */
void mt_moment_remade(struct mt_moment *m);

/* Fills m->made, m->alike and m->regrown. */
void mt_moment_spread(struct mt_moment *m);
const char *mt_spread_words(const struct mt_moment *m, const struct mt_made *w, char *s,
                            size_t cap);
/* Adds to m->made; after mt_moment_spread(). */
int mt_moment_parts(struct mt_moment *m);
/* Fills m->maker; after mt_moment_graph(), mt_moment_kept() and mt_moment_rounds(). */
int mt_moment_maker(struct mt_moment *m);
struct mt_sentence; /* base/words.h */
/* Adds "; the largest part, 9.00 GiB, is gradients; the largest holder, with ...". */
void mt_verdict_holder(struct mt_sentence *t, const struct mt_analysis *a,
                       const struct mt_device_analysis *d);
/* Adds " in training (backward)"; where the frames tell no phase, with the functions at work by a
 * stack, which may be 0. */
void mt_verdict_phase(struct mt_sentence *s, const struct mt_trace *t, const struct mt_verdict *v,
                      mt_stack_id stack);
void mt_maker_words(const struct mt_moment *m, struct mt_sentence *out); /* adds to it */
void mt_spread_in_cause(const struct mt_moment *m, struct mt_sentence *out);

/* Fills c->pins: segments with free bytes that live blocks hold. */
int mt_moment_pins(const struct mt_moment *m, struct mt_cause *c);

void mt_shape_of(const struct mt_moment *m, const struct mt_role_rules *rules,
                 struct mt_shape *out);

/* Whether a rollout has no use for a role: optimizer state and gradients; the parameters too where
 * the engine has weights of its own. */
static inline bool mt_is_trainers(const struct mt_moment *m, unsigned role)
{
    return role == MT_ROLE_OPTIM_STATE || role == MT_ROLE_GRAD ||
           (role == MT_ROLE_PARAM && m->role[MT_ROLE_ENGINE_WEIGHTS] != 0 &&
            m->role[MT_ROLE_OPTIM_STATE] + m->role[MT_ROLE_GRAD] != 0);
}
/* Whether a role should not outlive its stretch of a phase: neither model nor state nor engine. */
static inline bool mt_is_transient(unsigned role)
{
    return role == MT_ROLE_ACTIVATION || role == MT_ROLE_RECOMPUTE || role == MT_ROLE_LOGITS ||
           role == MT_ROLE_TEMP || role == MT_ROLE_OPTIM_TEMP;
}

/* Whether a block is of what the job computes: neither a model's nor an optimizer's. */
static inline bool mt_is_of_work(const struct mt_held *h)
{
    return !h->pending &&
           (mt_is_transient(h->role) || h->role == MT_ROLE_UNKNOWN || h->role == MT_ROLE_DATA);
}

/* Whether a block was born in the stretch at hand, or is of the pass whose backward that is. */
static inline bool mt_is_of_stretch(const struct mt_moment *m, const struct mt_held *h)
{
    return h->event != UINT64_MAX &&
           (h->event >= m->began || (h->event >= m->pass_began && h->attr.phase == m->phase) ||
            h->event == m->last_made);
}

/* Whether a block is a temporary of an earlier stretch of a phase, that should be gone. */
static inline bool mt_is_residue(const struct mt_moment *m, const struct mt_held *h)
{
    return h->event != UINT64_MAX && !mt_is_of_stretch(m, h) && !h->pending &&
           (mt_is_transient(h->role) || h->role == MT_ROLE_WEIGHT_SYNC);
}

/* what_if.c: every counter-factual that the moment has bytes for, before the cause is decided. */
int mt_cause_what_ifs(struct mt_cause *c, struct mt_moment *m);
const struct mt_what_if *mt_cause_what_if(const struct mt_cause *c, const char *id); /* or NULL */

/* evidence.c: once the kind is decided. */
int mt_cause_evidence(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape);
/* One piece of evidence, about the moment of the cause. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int mt_cause_evidence_add(struct mt_cause *c, uint64_t bytes, const char *fmt, ...);
/* Makes the evidence that was added last one about the events `since` to `event`. */
void mt_cause_evidence_at(struct mt_cause *c, uint64_t since, uint64_t event);

/* copy_words.c: a sentence into s, which it returns. */
const char *mt_outlived_words(const struct mt_moment *m, char *s, size_t cap);
const char *mt_copies_words(const struct mt_moment *m, const struct mt_copies *c, char *s,
                            size_t cap);
const char *mt_remade_words(const struct mt_moment *m, char *s, size_t cap);
/* What autograd keeps in the sizes of the weights; NULL = little, or the copies tell it. */
const char *mt_fixed_words(const struct mt_moment *m, char *s, size_t cap);
const char *mt_old_state_words(const struct mt_moment *m, char *s, size_t cap);

/* sentence.c: once the kind and the evidence are there. A forecast's sentence stays. */
int mt_cause_sentence(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *shape);
const char *mt_cause_trainers(const struct mt_moment *m); /* what m->training consists of */

#endif
