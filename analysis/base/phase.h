/* phase.h -- which phase of the job an allocation belongs to, from its stack, its neighbours and
 * the recorded annotations.
 *
 * Rules are data (analysis/rules/phases.json, overlaid by --rules). The result for every event is a
 * struct mt_attr. */
#ifndef MT_PHASE_H
#define MT_PHASE_H

#include "parser/model/trace.h"

enum mt_phase {
#define MT_PHASE(N, id, words, coarse) MT_PH_##N,
#include "analysis/base/phases.def"
#undef MT_PHASE
    MT_PH_COUNT
};
const char *mt_phase_id(enum mt_phase p);    /* "rollout.kv_alloc" */
const char *mt_phase_words(enum mt_phase p); /* "KV-cache allocation" */
bool mt_phase_is_coarse(enum mt_phase p);
int mt_phase_find(const char *id, size_t n); /* enum mt_phase, or -1 */
/* Phases of which a training loop consists. */
static inline bool mt_phase_is_training(enum mt_phase p)
{
    return p == MT_PH_TRAIN || p == MT_PH_TRAIN_ACTOR || p == MT_PH_TRAIN_CRITIC;
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

/* One rule of analysis/rules/phases.json, or one of the built-in methods (certain backward, empty
 * backward, carry, ...). */
struct mt_phase_rule {
    const char *id;        /* stable: "phase.torch.optim.adam.step", "method.autograd_engine" */
    const char *framework; /* "verl", "torch", ... */
    char level;            /* C S M K W O N A (docs/rules-phases.md), or '*' for a method */
    /* as in the file: a phase id, or the name of a container or role marker */
    const char *phase;
    const char *file_suffix, *function;
    char status; /* G R D U */
    const char *note, *source;
    const char *last_call; /* holds for the last of several lines of the function that call the one
                              of this name; "" = for all of it */
};

struct mt_phase_rules; /* opaque, immutable after loading */

/* Loads the embedded rules and, when overlay != NULL, the "phases" array of that JSON text
 * (overlay_name for messages): a rule with a known id replaces, others append. MT_EINPUT names
 * file, rule and field. */
enum mt_rc mt_phase_rules_load(struct mt_phase_rules **out, const char *overlay, size_t overlay_len,
                               const char *overlay_name, struct mt_err *err);
void mt_phase_rules_free(struct mt_phase_rules *r);
/* rule indexes are 1 .. count */
uint32_t mt_phase_rules_count(const struct mt_phase_rules *r);
/* NULL for 0 */
const struct mt_phase_rule *mt_phase_rule_at(const struct mt_phase_rules *r, uint32_t index);

/* Attribution of a trace. The cache per stack lives here; create one per trace. */
struct mt_phaser;
enum mt_rc mt_phaser_new(struct mt_phaser **out, const struct mt_phase_rules *r,
                         const struct mt_trace *t, struct mt_err *err);
void mt_phaser_free(struct mt_phaser *p);
struct mt_phase_opts {
    bool use_annotations; /* false in tests: frames alone */
};
/* Writes out[i] for every event i of the device. alloc and oom events carry their own attribution;
 * all others the phase that holds at that moment. */
enum mt_rc mt_phaser_run(struct mt_phaser *p, uint32_t device, const struct mt_phase_opts *o,
                         struct mt_attr *out, struct mt_err *err);
/* By the stack alone, without neighbours: for blocks that were there before the trace began. */
struct mt_attr mt_phaser_stack(struct mt_phaser *p, mt_stack_id stack);

#endif
