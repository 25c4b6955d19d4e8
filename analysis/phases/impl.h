/* phases/impl.h -- what the files of the phase engine share; nobody else includes it.
 *
 *   rules.c     JSON -> rules, and their compiled form
 *   cut.c       the inner end of a traceback -> a phase
 *   mark.c      frames -> marks
 *   match.c     marks -> one verdict for every stack, without neighbours
 *   ranges.c    recorded annotations -> which rule holds at a time
 *   sequence.c  the events of a device in order: carry, implied training, runs without frames
 *   walk.c      the calls of a model, by the lines they come from
 *   goes_on.c   calls that keep nothing, more of them than training has
 *   outside.c   what comes behind the function that trains
 *   let_go.c    a pass after training that keeps nothing for a backward pass
 *   untold.c    a pass behind training that may be none
 *   first.c     a first pass that memory runs out in, of a training by its function's name
 *   for_none.c  passes that keep what no backward pass comes for */
#ifndef MT_PHASES_IMPL_H
#define MT_PHASES_IMPL_H

#include "analysis/phases/phases.h"
#include "analysis/base/addrmap.h"
#include "analysis/base/rule_json.h"

#define MT_MAX_PHASE_RULES 4095 /* 12 bits in struct mt_attr */

/* Built-in methods: the first rules of every rule set, so that each attribution has a rule. */
enum mt_method {
    MT_METHOD_NONE,
    MT_METHOD_ENGINE,
    MT_METHOD_EMPTY_RUN,
    MT_METHOD_EMPTY_WINDOW,
    MT_METHOD_NAME_FORWARD,
    MT_METHOD_NAME_BACKWARD,
    MT_METHOD_NO_GRAD,
    MT_METHOD_LET_GO,
    MT_METHOD_FOR_NONE,
    MT_METHOD_UNTOLD,
    MT_METHOD_GOES_ON,
    MT_METHOD_OUTSIDE,
    MT_METHOD_CARRY,
    MT_METHOD_NO_STACK,
    MT_METHOD_NO_SIGNATURE,
    MT_METHOD_COUNT
};

/* How a rule is used; beside struct mt_phase_rule, by the same index. */
struct mt_rule_code {
    uint8_t phase; /* enum mt_phase; MT_PH_NONE for containers and role markers */
    uint8_t flags; /* enum mt_rule_flag */
    uint16_t file_len;
};
enum mt_rule_flag {
    /* came with --rules: wins over a built-in rule for the same file and function */
    MT_RF_OVERLAY = 1,
    MT_RF_LOG_PROBS = 2, /* MT_FWT_LOG_PROBS: a log-prob pass inside the actor's training */
    /* MT_FWT_PASSES_IN_STEP, MT_FWT_SET_UP_IN_STEP: what runs inside a training step */
    MT_RF_IN_STEP = 4,
    MT_RF_IN_LOSS = 8, /* the loss calls it as well: then it is the training step itself */
    /* what runs below the function runs without gradients, by a with block that no frame shows */
    MT_RF_NO_GRAD = 16,
    MT_RF_UNASKED = 64,  /* a name that counts where nothing below it asks for gradients */
    MT_RF_KEPT = 128,    /* a name that counts where a first pass keeps what a backward wants */
    MT_RF_LAST_CALL = 32 /* only from one line of it: struct mt_phase_rule.last_call */
};

/* A row "cut": one of file, codes, methods and scripts is there, or functions alone, of any file;
 * phase and sub may be MT_PH_NONE. */
struct mt_cut_rule {
    const char *id, *framework, *phase_id, *sub_id;
    const char *file;
    const char *const *functions; /* NULL = any of the file */
    const char *const *codes,
        *const *methods, *const *scripts, *const *lines, *const *said, *const *told, *const *calls;
    const char *const *with; /* of `cause`: one of them has to be in the same sentence */
    const char *cause;       /* what `told` names instead of a phase; NULL = a phase */
    const char *const *launchers;
    const char *const *unless_in; /* not where one of these functions is further out */
    const char *source;
    enum mt_phase phase, sub;
};
struct mt_phase_rules {
    struct mt_arena arena;
    MT_VEC(struct mt_cut_rule) cut; /* in the order of the file: the first that fits holds */
    MT_VEC(const char *) steps;     /* their patterns of lines, NULL behind the last */
    const struct mt_framework_rules *fw;
    MT_VEC(struct mt_phase_rule) rule; /* [0] is no rule */
    MT_VEC(struct mt_rule_code) code;
};

/* phases/cut.c: one row "cut". */
struct mt_rule_reader;
enum mt_rc mt_cut_read(struct mt_phase_rules *r, const struct mt_rule_reader *rd, const cJSON *obj);
/* When all are read: r->steps. */
bool mt_cut_finish(struct mt_phase_rules *r);

static inline enum mt_phase mt_rule_phase(const struct mt_phase_rules *r, uint32_t i)
{
    return (enum mt_phase)r->code.p[i].phase;
}
static inline enum mt_conf mt_rule_conf(const struct mt_phase_rules *r, uint32_t i)
{
    return r->rule.p[i].status == 'U' ? MT_CONF_LOW : MT_CONF_MARKED;
}
static inline enum mt_conf mt_conf_min(enum mt_conf a, enum mt_conf b) { return a < b ? a : b; }

/* What a stack says by itself. */
struct mt_stack_verdict {
    /* the most telling one: innermost role or sub-phase marker, else the coarse one */
    uint16_t rule;
    uint16_t own_rule;
    uint16_t kept_rule; /* a name of MT_RF_KEPT that it goes through; 0 = none */
    /* coarse phase that its frames decide and that later events inherit; MT_PH_NONE */
    uint8_t own, own_conf;
    uint8_t local, local_conf; /* coarse phase by a sub-phase marker: for this event only */
    /* coarse phase that a function's name says without a proof: no more than a word, but a word of
     * the function that runs, where the phase would be carried over from one that has returned */
    uint8_t hint;
    uint8_t sub, sub_conf;
    uint8_t flags; /* enum mt_verdict_flag */
};
enum mt_verdict_flag {
    MT_VF_PYTHON = 1,      /* has a Python frame */
    MT_VF_CERTAIN = 2,     /* runs on the autograd thread */
    MT_VF_WEAK = 4,        /* the sub-phase is only a module call */
    MT_VF_BY_NAME = 8,     /* the sub-phase is only a function name */
    MT_VF_MAKE_GRADS = 16, /* makes the root gradient: backward begins */
    /* a pass in a function that is proven, or known by its rule, to run without gradients */
    MT_VF_NO_GRAD = 32,
    MT_VF_NAMED =
        64, /* its phase is no more than that function's name, or that it has no gradients */
    /* in a function with PyTorch's wrapper for such, below which no model is called: alone it
     * proves nothing, as a loader of weights may have it */
    MT_VF_WRAPPED = 128
};

struct mt_phaser {
    const struct mt_phase_rules *rules;
    const struct mt_trace *t;
    uint16_t *node16; /* verdict index of every stack node ... */
    uint32_t *node32; /* ... or this one, when there are more than 65535 different verdicts */
    MT_VEC(struct mt_stack_verdict) verdict;
};

enum mt_rc mt_match_build(struct mt_phaser *p, struct mt_err *err);

static inline const struct mt_stack_verdict *mt_stack_verdict_of(const struct mt_phaser *p,
                                                                 mt_stack_id s)
{
    return &p->verdict.p[p->node16 != NULL ? p->node16[s] : p->node32[s]];
}

/* Which annotation rule holds from a time on, until the next entry. */
struct mt_span {
    uint64_t t0;
    uint16_t rule; /* 0 = none */
};
struct mt_spans {
    MT_VEC(struct mt_span) v;
    uint32_t at; /* cursor: events come nearly sorted */
};
/* The rule for the name of a range: the one with the longest pattern; 0 = none. */
uint32_t mt_annotation_rule(const struct mt_phase_rules *r, const char *s, size_t n);
/* Annotations of a device that name a coarse phase, or else a sub-phase. */
enum mt_rc mt_spans_build(struct mt_spans *s, const struct mt_phaser *p, int32_t ordinal,
                          bool coarse, struct mt_err *err);
uint32_t mt_spans_rule(struct mt_spans *s, uint64_t time_ns);

/* phases/walk.c: the calls of a model in the order of events. A call lasts until an allocation in
 * a forward pass comes from another line, or none does. */
struct mt_pass_call {
    uint64_t first;              /* event */
    mt_frame_id line;            /* that it comes from */
    uint32_t round;              /* backward passes before it */
    uint32_t made, live, at_end; /* blocks: all, now, when it ended */
    bool ended;
};
struct mt_pass_walk {
    const struct mt_trace *t;
    const struct mt_device *d;
    const struct mt_attr *attr;
    mt_frame_id *line, *near; /* by stack */
    mt_frame_id at;           /* of the call at work; 0 = none is */
    uint32_t round;
    bool in_backward;
    MT_VEC(struct mt_pass_call) calls;
    struct mt_addrmap of; /* address of a block -> its call */
};
/* 1, or 0 = out of memory; mt_pass_walk_done() frees it after either. Then each event in turn. */
int mt_pass_walk_begin(struct mt_pass_walk *w, const struct mt_trace *t, const struct mt_device *d,
                       const struct mt_attr *attr);
int mt_pass_walk_see(struct mt_pass_walk *w, uint64_t i);
void mt_pass_walk_done(struct mt_pass_walk *w);

/* After all else. Where nothing is trained: what keeps its blocks as training would is inference
 * without no_grad. 1, or 0 = out of memory. */
int mt_for_none_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out);
/* Whether something may be trained, or a phase of forward passes is known already. */
bool mt_passes_are_told(const struct mt_device *d, const struct mt_attr *out);
/* phases/first.c: after mt_for_none_find() */
int mt_first_find(const struct mt_phaser *p, const struct mt_device *d, struct mt_attr *out);
/* After all else: the evaluation that follows the last training pass. 1, or 0 = out of memory. */
int mt_let_go_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out);
/* phases/goes_on.c: after mt_let_go_find() */
int mt_goes_on_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out);
/* phases/outside.c: after mt_goes_on_find() */
int mt_outside_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out);
/* phases/between.c: after mt_outside_find() */
int mt_between_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out);
/* phases/untold.c: after mt_goes_on_find() */
int mt_untold_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out);

#endif
