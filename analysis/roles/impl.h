/* roles/impl.h -- what the files of the role analysis share; nobody else includes it.
 *
 *   roles.c        the passes in their order, the account of bytes by role, the self-check
 *   decide.c       one block: pool, frames, exact size, lifetime, phase
 *   fared.c        what became of blocks of one stack in their forward pass
 *   cast.c         copies of weights that autocast makes
 *   before.c       blocks that were there before recording
 *   pools.c        private pools
 *   built.c        models that are built while it is recorded
 *   frames.c       what the frames of a block, and of its free, say alone
 *   grown.c        caches that each pass makes anew, longer
 *   replace.c      what an optimizer makes anew
 *   copies.c       copies of the weights that the job's own code makes
 *   flat.c         tensors as large as many weights that the job's own code keeps
 *   layered.c      one tensor for each layer: a cache of keys and values
 *   lasting.c      what outlasts as large blocks of its line
 *   loaded.c       checkpoints that were read onto the card and stay there
 *   data.c         what the job's own code keeps beside the passes
 *   idle.c         gradients of parameters that no optimizer steps
 *   lone.c         optimizer state that is one block a weight
 *   readers.c      which stacks make blocks as large as logits
 *   recorded.c     backward passes that keep what they make
 *   unweighted.c   functions whose softmax weighs no values
 *   twins.c        a second model of the same sizes
 *   weights.c      how many blocks of a size are parameters, and which sizes are a model's
 *   sizes.c        what is noted of sizes
 *   vocab.c        vocabularies
 *   heads.c        heads and embeddings
 *   chunk.c        the type of logits, by the chunks of a loss
 *   layer.c        sizes that each layer makes
 *   regions.c      stretches of forward, backward or optimizer work
 *   steps.c        steps, micro-batches
 *   occurrences.c  stretches of one coarse phase
 *   growth.c       what grows from step to step
 *   columns.c      what roles hold in each column of a timeline
 *   laps.c         the last two whole steps, to be laid over each other */
#ifndef MT_ROLES_IMPL_H
#define MT_ROLES_IMPL_H

#include "analysis/roles/rules.h"
#include "analysis/roles/roles.h"

/* What a stretch of allocations belongs to inside its coarse phase. Sub-phases that occur in
 * several of them (communication, unshard, compilation) do not end one. */
enum mt_group { MT_G_OTHER, MT_G_FORWARD, MT_G_BACKWARD, MT_G_OPTIMIZER };

struct mt_region {
    uint32_t first, last_alloc; /* events; it lasts to the first of the next region - 1 */
    uint64_t largest;           /* request in it, one that failed included */
    uint64_t computed;          /* the same without what is gathered or moved */
    uint8_t group, phase;
};

/* Bits of mt_fate.life between mt_regions_make() and mt_fates_decide(), which replaces them by the
 * lifetime: what later allocations of the same stack and size say of this one. */
enum {
    MT_SEEN_OVERLAP = 1,
    MT_SEEN_AGAIN = 2,
    MT_SEEN_CAST = 4, /* autocast's copy of a weight */
    MT_SEEN_BUILT = 8 /* a weight, by its constructor */
};

/* What blocks of one size were seen to be. Where batches differ there are tens of thousands of
 * sizes, so it is kept small; all counts are of blocks. */
struct mt_size_use {
    uint64_t size;
    /* gradients of that size that outlive their backward pass, alive together; `cut`: in passes
     * that memory ran out in, where that cannot be seen */
    uint32_t grads, grads_peak, cut, cut_peak;
    /* parameters of that size: told by gradients, by states, by copies of half the size; 0 = by
     * nothing. `made` of them were made in the trace and stay. mt_weights_count(). */
    uint32_t weights, made;
    /* blocks that went with their backward pass: gradients that were added to others of that size
     */
    uint32_t added;
    uint32_t outside;           /* made before the trace or outside of the passes */
    uint32_t casts, casts_peak; /* copies of half that size, by autocast, alive together */
    uint32_t kept;              /* that were there before and stay */
    uint32_t states;            /* optimizer state at the focus. lone.c */
    bool state;                 /* optimizer state of that size was made */
    /* a parameter, gathered or not, has it; a block of a forward pass has it */
    bool param, activation;
    /* a forward pass makes whole rows of the vocabulary of that size once a layer */
    bool layer;
    /* a constructor made a block of that size that stays; a backward pass or an optimizer made one
     */
    bool built, trained;
    bool rebuilt; /* the optimizer makes parameters of that size anew: mt_rebuilt_find() */
};

#define MT_SEEN_SIZES 64u
#define MT_RECENT_SIZES 256u
enum { MT_MIN_LOGITS = 65536 }; /* bytes: smaller blocks are not asked whether they are logits */
struct mt_seen_size {
    uint64_t size, bytes;
};

/* A private pool and what its frames say. */
struct mt_pool_role {
    uint64_t pool[2];
    uint64_t bytes[MT_ROLE_COUNT]; /* by what frames and phases say alone */
    uint64_t all;
    uint8_t role; /* MT_ROLE_UNKNOWN = the frames do not agree */
};

struct mt_pool_span {
    uint64_t addr, end;
    /* event that made the segment; what lay at these addresses before was not in the pool */
    uint64_t since;
    uint32_t pool; /* index */
};

/* Blocks of this size and stack are copies that autocast keeps: some were let go with its context.
 */
struct mt_cast {
    uint64_t size;
    mt_stack_id stack;
};

struct mt_rwork {
    struct mt_roles *w;
    struct mt_role_facts *out;
    struct mt_replay *r;
    struct mt_phaser *ph;
    const struct mt_role_rules *rules;
    int64_t focus; /* event; -1 = before the first */
    MT_VEC(struct mt_region) regions;
    MT_VEC(struct mt_size_use) sizes;
    struct mt_addrmap size_at;
    MT_VEC(struct mt_cast) casts;
    MT_VEC(struct mt_pool_role) pools;
    MT_VEC(struct mt_pool_span) spans;       /* private segments of the end state, by address */
    MT_VEC(uint64_t) step_marks;             /* times at which annotated steps end */
    struct mt_seen_size seen[MT_SEEN_SIZES]; /* of the loss and of logits by frames */
    uint32_t n_seen;
    bool frees_tell;   /* some stack is one that lets blocks of a known role go */
    uint32_t backward; /* event at which the first backward pass begins; UINT32_MAX = none */
    uint8_t *counted;  /* bit per event: a gradient that `grads` or `cut` counts */
    bool loads;        /* the engine loads its weights in a phase of its own */
    /* live blocks at the end of the size of cuBLAS's larger workspace */
    uint32_t n_hopper;
    uint64_t logits_max;  /* largest block that frames call logits; 0 = none */
    uint64_t logits_most; /* and of passes whose frames do not say so; never less */
    /* bytes of one token's logits at 2 bytes an element; 0 = vocabulary not known */
    uint64_t logits_unit;
    struct mt_addrmap named; /* text of a name -> role */
    /* of blocks of forward passes, by stack and size, and by stack alone: bits of what became of
     * them. fared.c */
    struct mt_addrmap fared;
    /* of `sizes`, index + 1, by a part of the size: most look-ups end here */
    uint32_t recent[MT_RECENT_SIZES];
};

#define MT_CUBLAS_WORKSPACE UINT64_C(8519680)         /* CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8 */
#define MT_CUBLAS_WORKSPACE_HOPPER UINT64_C(33554432) /* a tensor may be as large */

static inline uint32_t mt_n_events(const struct mt_rwork *k) { return (uint32_t)k->r->d->events.n; }
static inline uint32_t mt_region_last(const struct mt_rwork *k, uint32_t region)
{
    return region + 1 < k->regions.n ? k->regions.p[region + 1].first - 1 : mt_n_events(k) - 1;
}

/* roles/regions.c */
enum mt_group mt_group_of(unsigned sub, enum mt_group now);
/* also occurrences, MT_SEEN_*, sizes of logits; 1, or 0 = out of memory */
int mt_regions_make(struct mt_rwork *k);
uint32_t mt_region_at(const struct mt_rwork *k, uint32_t event);
/* roles/steps.c: 1, or 0 = out of memory */
int mt_steps_make(struct mt_rwork *k);
/* roles/occurrences.c */
int mt_occurrence_next(struct mt_rwork *k, uint32_t event,
                       unsigned phase); /* an allocation of another phase than the one before */
void mt_occurrences_end(struct mt_rwork *k);
/* roles/sizes.c */
void mt_vocab_see(struct mt_rwork *k, uint64_t size, bool by_frame);
struct mt_size_use *mt_size_use(struct mt_rwork *k, uint64_t size, bool make);
/* roles/heads.c: sizes of live blocks that may be heads, and of the vectors of the layers */
enum { MT_VECTORS = 64 };
struct mt_head {
    uint64_t rows;
    uint32_t pairs; /* of a block and a vector */
};
struct mt_heads {
    MT_VEC(uint64_t) large; /* by size, each once */
    MT_VEC(uint64_t) made;  /* of models and their states, whose birth is known; by size */
    /* what those that come a few times may be heads of, by length */
    MT_VEC(struct mt_head) head;
    uint64_t vector[MT_VECTORS];
    uint32_t n;
};
int mt_heads_make(const struct mt_rwork *k, struct mt_heads *h); /* 0 = out of memory */
/* Whether a size is that of blocks that frames call logits, also in half or twice the type. */
bool mt_is_candidate(const struct mt_rwork *k, uint64_t size);
/* How many widths a head of so many rows is there for. */
uint32_t mt_heads_of(const struct mt_heads *h, uint64_t rows);
/* roles/vocab.c */
int mt_vocab_find(struct mt_rwork *k);
bool mt_is_logits_size(const struct mt_rwork *k, uint64_t size);
bool mt_is_logits_share(const struct mt_rwork *k, uint64_t size);
bool mt_is_vocab_weight(struct mt_rwork *k, uint64_t size);
/* Whether a block is tokens x vocabulary, in a pass over the model: by the known vocabulary, else
 * by frames of the loss, else as the largest of its pass. overlapped: another of its stack and size
 * was there. An eighth of the largest logits: smaller blocks of whole rows are chance. Half or a
 * thirty-second of them instead change roles in 29 and 23 of 387 reports. */
bool mt_is_logits(struct mt_rwork *k, const struct mt_event *e, unsigned sub, uint64_t largest,
                  bool overlapped);
/* roles/chunk.c: whether a loss in chunks proves that a head's output of so many bytes is in 16
 * bits. */
int mt_head_in_16_bits(struct mt_rwork *k, uint64_t head, bool *yes);
/* roles/layer.c */
/* for vocabularies that divide many sizes; without it no size is a layer's */
int mt_layer_sizes_find(struct mt_rwork *k);
bool mt_is_layer_size(struct mt_rwork *k, uint64_t size);
/* roles/pools.c */
int mt_pool_roles(struct mt_rwork *k);
/* roles/graphs.c: streams and blocks of CUDA graphs beside their pools, once roles are decided. */
void mt_graph_places(struct mt_rwork *k);
/* Role of the private pool that an allocation lies in; MT_ROLE_COUNT = not in a private pool, or in
 * one of a trainer. */
unsigned mt_pool_role_of(const struct mt_rwork *k, const struct mt_event *e, uint64_t event);
unsigned mt_pool_role_at(const struct mt_rwork *k, uint64_t addr, uint64_t event);
/* torch_memory_saver has one pool for weights and KV cache: what is larger names it, the phase
 * tells them apart. */
bool mt_is_told_by_phase(struct mt_attr a, unsigned pool);
/* roles/before.c
 * A block whose allocation is not in the trace, by frames, pool and phase. until: the event at
 * which it goes, UINT64_MAX = it stays. MT_ROLE_UNKNOWN with MT_WHY_NONE = nothing says it. */
unsigned mt_role_of_held(const struct mt_rwork *k, uint64_t addr, uint64_t until, mt_stack_id stack,
                         struct mt_attr a, uint8_t *why);
int mt_old_roles(struct mt_rwork *k);
/* roles/built.c: MT_SEEN_BUILT; 0 = out of memory */
int mt_built_find(struct mt_rwork *k);
/* roles/frames.c */
/* What frames and phase say of a block that stays: MT_ROLE_UNKNOWN = nothing. */
unsigned mt_role_by_stack(const struct mt_rwork *k, mt_stack_id stack, struct mt_attr a,
                          uint8_t *why);
/* The role that the frames of a block's free name; MT_ROLE_COUNT = none. `freed`:
 * the event of its free_completed. */
unsigned mt_role_of_free(const struct mt_rwork *k, uint64_t freed);
/* Fills k->casts; 0 = out of memory. */
int mt_cast_stacks_find(struct mt_rwork *k);
bool mt_is_cast(const struct mt_rwork *k, mt_stack_id stack, uint64_t size);
/* roles/replace.c: after mt_fates_decide(); 0 = out of memory */
int mt_replaced_find(struct mt_rwork *k);
/* After mt_weights_count(): parameters that nothing else shows, for an optimizer makes them anew; 0
 * = out of memory. */
int mt_rebuilt_find(struct mt_rwork *k);
/* roles/weights.c: after mt_fates_decide(); 0 = out of memory */
int mt_weights_count(struct mt_rwork *k);
/* Blocks from before the recording, without a stack, that stay and have no role yet: those whose
 * sizes are a model's become parameters. 0 = out of memory */
int mt_weights_by_layers(struct mt_rwork *k);
/* roles/stays.c; 0 = out of memory */
int mt_stays_find(struct mt_rwork *k);
/* roles/copies.c: after all other roles; 0 = out of memory */
int mt_copies_find(struct mt_rwork *k, int64_t focus);
/* roles/flat.c: of the n events, births of blocks whose role only their lifetime tells and that are
 * larger than any weight, those that are flat copies. weights: their sizes in the order of births.
 */
void mt_flat_find(struct mt_rwork *k, const uint32_t *events, uint32_t n, int64_t focus,
                  const uint64_t *weights, uint32_t n_weights);
/* roles/loaded.c: after mt_copies_find(); 0 = out of memory */
int mt_loaded_find(struct mt_rwork *k, int64_t focus);
/* roles/data.c: after mt_loaded_find(); 0 = out of memory */
int mt_data_find(struct mt_rwork *k, int64_t focus);
/* roles/layered.c: before mt_data_find(); 0 = out of memory */
int mt_layered_find(struct mt_rwork *k);
/* roles/lasting.c: after mt_layered_find() */
int mt_lasting_find(struct mt_rwork *k);
/* roles/idle.c: out->idle_grads and out->spent_grads, after all roles; 0 = out of memory */
int mt_idle_find(struct mt_rwork *k, int64_t focus);
/* roles/lone.c: out->lone_state, after all roles */
void mt_lone_find(struct mt_rwork *k, int64_t focus);
/* roles/readers.c: out->logits_by, after mt_vocab_find(); 0 = out of memory */
int mt_readers_find(struct mt_rwork *k);
/* roles/unweighted.c: out->unweighted; 0 = out of memory */
int mt_unweighted_find(struct mt_rwork *k);
/* roles/recorded.c: out->recorded, after all other roles, some of which it changes */
void mt_recorded_find(struct mt_rwork *k, int64_t focus);
/* roles/grown.c: how blocks of a stack follow blocks of another size: a step larger while those
 * before are there, or otherwise. `freed`: when the one before goes. */
struct mt_grown {
    uint32_t up, in_turn, other; /* in_turn: larger, but the one before has gone */
};
/* handed_on: mt_is_handed_on() */
void mt_grown_note(struct mt_grown *g, uint64_t before, uint64_t size, uint32_t freed, uint32_t now,
                   bool handed_on);
/* Whether the block born at `birth`, which has gone, was still there when another stack made one
 * like it, a little larger, which is alive at event `now`. */
bool mt_is_handed_on(const struct mt_rwork *k, uint32_t birth, uint32_t now);
bool mt_is_grown(const struct mt_grown *g);
bool mt_is_grown_in_turn(const struct mt_grown *g);
/* by w->grown of its stack, which is not 0 */
unsigned mt_grown_role(uint8_t grown);
/* roles/grown_sum.c: out->grown_cache, pass_cache and kept_cache; after the roles. 1, or 0 = out of
 * memory */
int mt_grown_sum(struct mt_rwork *k, int64_t focus);
/* roles/twins.c: out->second_model, model_copies; 0 = out of memory */
int mt_twins_find(struct mt_rwork *k, int64_t focus);
/* roles/sizes.c: what the job's own name for the block says (event UINT64_MAX: born before the
 * trace); MT_ROLE_COUNT = it gave none, or one that says nothing. */
unsigned mt_role_by_name(struct mt_rwork *k, uint64_t event, uint64_t addr);
/* roles/cast.c */
int mt_casts_find(struct mt_rwork *k); /* MT_SEEN_CAST */
/* roles/fared.c: of a block of a forward pass; 0 = out of memory */
/* age: events from its birth to its end; 0 = the end is the exception's. */
int mt_fared_note(struct mt_rwork *k, const struct mt_event *e, bool went, uint32_t age,
                  uint32_t region);
/* Whether those before it were let go of while their pass went on; of a block that had been there
 * for so many events when memory ran out, in that region. */
bool mt_fared_went(const struct mt_rwork *k, const struct mt_event *e, uint32_t age,
                   uint32_t region);
/* The last allocation of the events `first` to `last`; `first` where there is none. */
uint32_t mt_last_alloc(const struct mt_rwork *k, uint64_t last, uint32_t first);
/* roles/decide.c */
int mt_fates_decide(struct mt_rwork *k);
/* growth.c */
int mt_growth_make(struct mt_rwork *k);
/* roles/laps.c: the steps that are laid over each other, once growth is sorted. is: by stack,
 * whether the first row of growth counts it. 1, or 0 = out of memory */
int mt_laps_make(struct mt_rwork *k, const bool *is);

/* A timeline whose columns get their bytes by role, while events pass. `next`: the first column
 * that has none yet. */
struct mt_role_columns {
    struct mt_timeline *tl;
    uint32_t next;
};
int mt_columns_begin(struct mt_role_columns *c, struct mt_timeline *tl); /* 0 = out of memory */
/* The event after which something is to be noted; UINT32_MAX = none. */
static inline uint32_t mt_columns_mark(const struct mt_role_columns *c)
{
    return c->next < c->tl->n_columns ? c->tl->at[c->next] : UINT32_MAX;
}
/* The bytes of all roles after that event. */
void mt_columns_note(struct mt_role_columns *c, uint32_t event, const int64_t roles[]);
void mt_columns_end(struct mt_role_columns *c);

#endif
