/* role_facts.h -- what the analysis keeps of roles, steps and growth; see roles.h. */
#ifndef MT_ROLE_FACTS_H
#define MT_ROLE_FACTS_H

#include "analysis/base/phase.h"
#include "analysis/base/roles.h"
#include "analysis/facts/sequences.h"
#include "parser/model/trace.h"

/* Of an allocation, by its event number. A completed free has the event of its allocation in
 * `freed`, and its role; a requested free has its own number there, so that who looks for blocks
 * that stay need not look at the event. */
#define MT_NEVER UINT32_MAX
struct mt_fate {
    uint32_t freed; /* event of its free_completed; MT_NEVER = not in the trace */
    uint8_t role;   /* enum mt_role */
    uint8_t life;   /* enum mt_life */
    uint8_t why;    /* enum mt_role_why */
    uint8_t conf;   /* enum mt_conf */
};

/* One optimizer step with everything since the one before: rollout, log-prob, training. From
 * annotations (Optimizer.step#, ProfilerStep#) where there are any, else from the optimizer
 * sub-phases. Events [first, last]. */
struct mt_step {
    uint64_t first, last;  /* events */
    uint64_t t0_ns, t1_ns; /* 0 = no clock */
    bool whole;            /* it begins and ends in the trace */
    uint32_t first_micro, n_micros;
    uint64_t live_begin, live_end, peak;
    int64_t peak_event;
};

/* One forward with its backward (training), or one forward of a pass without gradients. */
struct mt_micro {
    uint64_t first, last;
    uint32_t step; /* UINT32_MAX = before the first */
    bool has_backward;
    bool by_logits; /* tokens_bytes is of logits, else of the largest activation */
    uint8_t phase;  /* coarse enum mt_phase */
    uint64_t live_begin, peak, live_end;
    int64_t peak_event;
    uint64_t tokens_bytes; /* bytes of the block from which tokens can be told (largest logits or
                              activation size class); 0 = none */
};

/* One stretch of events in one coarse phase. */
struct mt_occurrence {
    uint8_t phase;
    uint32_t step;
    uint64_t first, last, t0_ns, t1_ns;
    uint64_t live_begin, live_end, peak;
    int64_t peak_event;
    uint64_t alloc_bytes, n_allocs;
    uint64_t peak_roles[MT_ROLE_COUNT];     /* live at its peak */
    uint64_t retained_roles[MT_ROLE_COUNT]; /* born in it and live at its end */
    uint64_t retained;
    uint64_t
        useless; /* at its peak: resident bytes of roles that this phase never touches (optimizer
                    state and gradients in a rollout, KV cache and graph pools in training) */
};

/* Growth: bytes that one readable stack holds at the same point of successive steps. */
struct mt_growth {
    char *label;
    mt_stack_id stack;
    uint8_t role;
    /* compared; the first step, which sets up state, is left out */
    uint32_t n_steps;
    uint64_t first, last;             /* bytes at the first and the last of them */
    uint64_t first_event, last_event; /* at whose end: their last events */
    double slope;                     /* bytes per step, least squares */
    double r2;                        /* of the fit, 0..1 */
    uint8_t conf;                     /* enum mt_conf: by number of steps and fit */
};

/* One step, to be laid over another: live after each stretch of its events, at the highest moment
 * of the stretch, and what of that the stack holds that grows most. */
enum { MT_LAP_COLUMNS = 360 };
struct mt_lap {
    uint32_t step;   /* index */
    uint64_t events; /* of the step */
    uint32_t n;      /* columns: as many as there are events, at most MT_LAP_COLUMNS */
    uint64_t peak;
    uint64_t live[MT_LAP_COLUMNS], grown[MT_LAP_COLUMNS];
    uint64_t grown_end; /* what the stack holds at the end; of the last step growth's `last` */
};

/* A stack, and the largest block as large as logits that it made or asked for. */
struct mt_logits_by {
    mt_stack_id stack;
    uint64_t most;
};

/* A private pool, labelled by the frames of what lies in it. */
struct mt_role_pool {
    uint64_t pool[2];
    uint8_t role; /* MT_ROLE_UNKNOWN = its frames do not agree on one */
};

#define MT_GRAPH_STREAMS 8

/* Results that stay with the analysis. */
struct mt_role_facts {
    /* false: the curve is withheld; only the end state or the focus was classified */
    bool made;
    uint64_t at_focus[MT_ROLE_COUNT]; /* sum = live at the focus */
    uint64_t largest_activation;      /* one block of those at the focus */
    uint64_t largest_copy;            /* the same of checkpoint copies */
    /* parameters at the focus that are another model's, with the sizes of the one that is trained;
     * 0 = none */
    uint64_t second_model;
    /* one model that is there several times over, each size as often: how often, and the bytes of
     * one; 0 = there is none */
    uint32_t model_copies;
    uint64_t one_copy;
    /* gradients at the focus of parameters that the optimizer has no state for, though it stepped:
     * a model that runs with gradients for nothing; 0 = none */
    uint64_t idle_grads;
    /* gradients at the focus that an optimizer step has used, with no backward pass since; 0 =
     * there are none, or nothing tells */
    uint64_t spent_grads;
    /* optimizer state at the focus that is one block for each weight of its size, or less: a
     * momentum, a sum of squares; not the two moments of Adam */
    uint64_t lone_state;
    /* what backward passes since the last step made and keep, beside gradients of parameters: they
     * are recorded for a second backward (create_graph); 0 = they are not */
    uint64_t recorded;
    uint64_t recorded_graph; /* the same, where the graph below it is there too: it is certain */
    /* where memory ran out in setting up a model: parameters of one that has run passes before */
    uint64_t earlier_model;
    uint64_t grown_cache; /* of the KV cache at the focus: what each pass makes anew, longer */
    uint64_t pass_cache;  /* the same, and what the pass at hand has made */
    uint64_t kept_cache;  /* of grown_cache: what is older than a turn of its loop and the last */
    uint64_t
        second_to_come;    /* of one that memory ran out in, in the order of the first: the rest */
    uint64_t state_before; /* optimizer state that is older than the trace */
    uint64_t life_at_focus[MT_LIFE_COUNT];
    uint64_t pending_at_focus[MT_ROLE_COUNT]; /* of at_focus: free requested, not completed */
    uint64_t peak[MT_ROLE_COUNT];             /* highest over the trace */
    int64_t peak_event[MT_ROLE_COUNT];
    uint64_t alloc_bytes[MT_ROLE_COUNT]; /* over the trace */
    uint64_t why_at_focus[MT_WHY_COUNT];
    MT_VEC(struct mt_step) steps;
    MT_VEC(struct mt_micro) micros;
    MT_VEC(struct mt_occurrence) occurrences;
    uint64_t n_steps_all, n_micros_all,
        /* how many there are; the lists hold the first 65536 (steps, micros), 1024 */
        n_occurrences_all;
    MT_VEC(struct mt_growth) growth; /* positive slopes only, largest first; at most 32 */
    /* the last two whole steps, where there is growth; empty where their sums do not come out at
     * what is live at their ends, or at what the growth says */
    MT_VEC(struct mt_lap) laps;
    MT_VEC(struct mt_role_pool) pools;
    /* on which CUDA graphs were captured, and nothing else ran; the first so many */
    int64_t graph_stream[MT_GRAPH_STREAMS];
    uint32_t n_graph_streams;
    /* of graphs with a private pool: live at the end, neither in it nor on those streams */
    uint64_t graph_elsewhere;
    const char *steps_from; /* "annotations", "optimizer phases", "gradients let go of", "phase
                               periodicity", "" */
    /* by the order of passes alone: micro-batches of one step look the same */
    bool steps_are_guessed;
    MT_VEC(struct mt_logits_by) logits_by; /* that make blocks as large as logits, each once */
    /* a frame of each function that takes a softmax of a product and multiplies no values with it
     */
    MT_VEC(mt_frame_id) unweighted;
    uint64_t vocab; /* of the logits that were found; 0 = none */
    /* no head of so many rows is among the live blocks: another vocabulary may explain the sizes
     * too
     */
    bool vocab_is_guess;
    /* it has small factors only, so that sizes of layers are whole rows of it too */
    bool vocab_is_smooth;
    uint64_t vocab_split;                /* by which it was divided (tensor parallel); 1 = whole */
    uint64_t logits_tokens, logits_elem; /* of the largest logits block */
    /* what frames, or in a backward pass its size, say that the first failed request was for;
     * MT_ROLE_UNKNOWN = nothing */
    uint8_t request_role;
    struct mt_sequences sequences; /* of the batches, where they are seen one by one */
    /* after how many events the sums were compared; 0 = not asked for */
    uint64_t verified_events;
    int64_t first_bad_event; /* after which they did not add up; MT_NO_EVENT = none */
    /* bytes of MT_ROLE_UNKNOWN at the focus by confidence of the phase */
    uint64_t unknown_reasons[MT_CONF_COUNT];
};

/* Whether private pools hold the engine's cache or weights: such pools may be unmapped, as
 * PyTorch's books do not say. */
static inline bool mt_engine_is_private(const struct mt_role_facts *f)
{
    for (uint32_t i = 0; i < f->pools.n; i++)
        if (f->pools.p[i].role == MT_ROLE_KV_CACHE || f->pools.p[i].role == MT_ROLE_ENGINE_WEIGHTS)
            return true;
    return false;
}

#endif
