/* base/phase.h -- the phases of a job, and what is known of one event's: struct mt_attr. */
#ifndef MT_PHASE_H
#define MT_PHASE_H

#include "parser/model/trace.h"

enum mt_phase {
#define MT_PHASE(N, id, words, remedies, model, kinds) MT_PH_##N,
#include "analysis/base/phases.def"
#undef MT_PHASE
    MT_PH_COUNT
};
const char *mt_phase_id(enum mt_phase p);    /* "rollout.kv_alloc" */
const char *mt_phase_words(enum mt_phase p); /* "KV-cache allocation" */
int mt_phase_find(const char *id, size_t n); /* enum mt_phase, or -1 */
/* What a place goes by where one word has to do: the phase, or where that is not told what happens
 * inside. Both words: MT_PHASE_WORDS() of base/words.h. */
static inline enum mt_phase mt_phase_outer(enum mt_phase phase, enum mt_phase sub)
{
    return phase == MT_PH_UNATTRIBUTED && sub != MT_PH_NONE ? sub : phase;
}

/* What can be asked of a phase. One word has one meaning here: who asks something else takes
 * another bit. */
enum mt_phase_kind {
    MT_COARSE = 1 << 0,       /* one at a time, as against what happens inside one */
    MT_TRAINS = 1 << 1,       /* a training phase; inside a phase: only training does that */
    MT_LOGP = 1 << 2,         /* log-probabilities of whole responses */
    MT_SCORES = 1 << 3,       /* the trainer's models rate responses: log-prob, values */
    MT_FORWARD_ONLY = 1 << 4, /* forward passes without gradients outside the engine's rollout */
    /* of an engine beside the trainer nothing is needed: its memory could be elsewhere */
    MT_NEEDS_NO_ENGINE = 1 << 5,
    MT_OF_ENGINE = 1 << 6, /* the rollout engine's own, from its set-up to its sleep */
    MT_ROLLS_OUT = 1 << 7, /* of these, where the engine runs its model or makes ready to */
    MT_GENERATES = 1 << 8, /* of these, where it answers requests */
    MT_SETS_UP = 1 << 9,   /* a model is made or its weights are read */
    MT_SWITCHES =
        1 << 10, /* memory changes hands between trainer and engine, or goes to the host */
    /* a phase in between: the one before it goes on afterwards */
    MT_INTERRUPTS = 1 << 11,
    MT_ONCE_A_STEP = 1 << 12, /* comes once in each step of a trainer, not by batches of it */
    /* inside a phase */
    MT_IN_FORWARD = 1 << 13,
    MT_IN_LOSS = 1 << 14, /* of these, from the logits on */
    MT_IN_BACKWARD = 1 << 15,
    MT_IN_OPTIMIZER = 1 << 16 /* clipping, step and zeroing of gradients */
};
extern const uint32_t mt_phase_kinds[MT_PH_COUNT];
/* The phase is of one of these kinds. What is no phase (>= MT_PH_COUNT) is of none. */
static inline bool mt_phase_is(unsigned phase, unsigned kinds)
{
    return phase < MT_PH_COUNT && (mt_phase_kinds[phase] & kinds) != 0;
}

enum mt_conf {
    MT_CONF_NONE,     /* nothing known */
    MT_CONF_LOW,      /* a rule from memory, or a name that only looks like it */
    MT_CONF_CARRIED,  /* taken from the neighbours in time */
    MT_CONF_INFERRED, /* follows from another fact (backward implies training) */
    MT_CONF_MARKED,   /* a checked frame signature, a certain C++ frame, or an annotation */
    MT_CONF_COUNT
};
const char *mt_conf_name(enum mt_conf c);

/* 4 bytes, because there is one for every event. */
struct mt_attr {
    uint16_t rule_conf; /* rule index << 4 | MT_ATTR_NO_GRAD | enum mt_conf; rule 0 = none */
    uint8_t phase;      /* coarse enum mt_phase */
    uint8_t sub;        /* MT_PH_NONE or another enum mt_phase: what happens inside */
};
#define MT_ATTR_NO_GRAD 8u /* born in a pass that frames prove to run without gradients */
static inline enum mt_conf mt_attr_conf(struct mt_attr a)
{
    return (enum mt_conf)(a.rule_conf & 7);
}
static inline bool mt_attr_no_grad(struct mt_attr a)
{
    return (a.rule_conf & MT_ATTR_NO_GRAD) != 0;
}
static inline uint32_t mt_attr_rule(struct mt_attr a) { return a.rule_conf >> 4; }

#endif
