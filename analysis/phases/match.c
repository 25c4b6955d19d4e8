/* From frames to a verdict per stack, without neighbours.
 *
 * Stacks are a tree that grows inward, so the markers of a stack are those of its caller plus one
 * frame: one pass over the nodes in order, each in constant time, whatever the depth. Equal sets of
 * markers are one state; a state has one verdict. What was recorded of C++ and Python frames may be
 * interleaved or appended (it depends on the Python version), so only the order among Python frames
 * counts. */
#include "analysis/phases/mark.h"

#include <stdlib.h>
#include <string.h>

/* ---- stacks ---- */

/* What all frames of a stack mark together. Fields of equal size: no padding, compared as bytes. */
struct state {
    /* the outermost function that is called without gradients, by a hash; 0 = none */
    uint32_t under;
    uint16_t c;             /* the coarse marker that decides */
    uint16_t s, m, role, w; /* innermost of each; m, role and w only further in than s */
    /* outermost Python frame, when it is only called by the autograd engine */
    uint16_t o;
    uint16_t recompute, reduce;
    uint16_t rollout; /* rollout marker inside an evaluation */
    uint16_t n;       /* outermost name of the job's own code */
    uint16_t kept;    /* the same of those that count by what a first pass keeps */
    uint16_t p;       /* outermost function that tells the phase where nothing else does */
    /* MK_* of any frame, names of the innermost that has one, and the one below */
    uint16_t flags;
};
enum {
    ST_SETTLED = 1 << 8,  /* c is one of those that win below anything */
    ST_WRAPPED = 1 << 9,  /* the wrapper of a function without gradients was the last Python frame:
                             the next one is that function */
    ST_MIXED = 1 << 10,   /* and it is only called from inside a pass */
    ST_NO_GRAD = 1 << 11, /* below a function whose rule says so */
    ST_CALLED = 1 << 12,  /* below the call of a module */
    ST_FETCHED = 1 << 13  /* and there a module is brought to the device: a layer that fetches its
                             weights, no set-up */
};

static bool wins_below_anything(enum mt_phase p)
{
    return mt_phase_is(p, MT_INTERRUPTS) && p != MT_PH_ONLOAD_OFFLOAD;
}

/* An outer phase that is less telling than what it calls. */
static bool gives_way(const struct mt_phase_rules *r, uint32_t outer, uint32_t rule)
{
    enum mt_phase now = mt_rule_phase(r, outer), inner = mt_rule_phase(r, rule);
    unsigned flags = r->code.p[rule].flags;
    if (now == MT_PH_INIT || now == MT_PH_ROLLOUT_INIT || now == MT_PH_ONLOAD_OFFLOAD)
        return true;                   /* set-up calls loading, profiling, KV allocation */
    if (now == MT_PH_ROLLOUT_GENERATE) /* the scheduler's batch: which of the two it is stands
                                          further in */
        return inner == MT_PH_ROLLOUT_PREFILL || inner == MT_PH_ROLLOUT_DECODE;
    if (now == MT_PH_ROLLOUT_PROFILE) /* warming up ends with the graphs */
        return inner == MT_PH_ROLLOUT_GRAPH;
    if (now == MT_PH_TRAIN_ACTOR &&
        (flags & r->code.p[outer].flags & MT_RF_LOG_PROBS)) /* train_actor computes them itself */
        return mt_phase_is(inner, MT_LOGP);
    /* called from training_step */
    return mt_phase_is(now, MT_TRAINS) && !mt_phase_is(inner, MT_TRAINS) && (flags & MT_RF_IN_STEP);
}

/* The outermost coarse marker decides, but for these: the inner one wins. Called from the outermost
 * frame inward. */
static void step_coarse(const struct mt_phase_rules *r, struct state *st, const struct mt_marks *m)
{
    uint16_t rule = m->c;
    enum mt_phase now, inner;
    if (rule == 0 && m->s != 0 && wins_below_anything(mt_rule_phase(r, m->s)))
        rule = m->s;
    if (rule == 0)
        return;
    inner = mt_rule_phase(r, rule);
    if ((r->code.p[rule].flags & MT_RF_IN_LOSS) && (st->flags & MK_LOSS_CALL))
        return; /* the policy's log-probs inside the loss: the training step itself */
    if (r->code.p[rule].flags & MT_RF_NO_GRAD)
        st->flags |= ST_NO_GRAD;
    if (wins_below_anything(inner)) {
        st->c = rule;
        st->flags |= ST_SETTLED;
        return;
    }
    if (st->c == 0) {
        st->c = rule;
        return;
    }
    now = mt_rule_phase(r, st->c);
    if ((st->flags & ST_SETTLED) || inner == MT_PH_ONLOAD_OFFLOAD || inner == now)
        return; /* onload and offload never replace a phase that they happen in */
    if (gives_way(r, st->c, rule))
        st->c = rule;
    else if (now == MT_PH_EVAL && mt_phase_is(inner, MT_OF_ENGINE) && st->rollout == 0)
        st->rollout = rule; /* generation for validation: an evaluation whose inside is a rollout */
}

static void step_inner(const struct mt_phase_rules *r, struct state *st, const struct mt_marks *m)
{
    enum mt_phase outer = st->s != 0 ? mt_rule_phase(r, st->s) : MT_PH_NONE;
    /* module.to() in a function that brings a model back sets nothing up */
    bool is_onload = m->s != 0 && mt_rule_phase(r, m->s) == MT_PH_INIT &&
                     outer == MT_PH_ONLOAD_OFFLOAD && st->w == 0;
    if (m->s != 0 && !is_onload) {
        enum mt_phase p = mt_rule_phase(r, m->s);
        if (p != MT_PH_INIT)
            st->flags &= (uint16_t)~ST_FETCHED;
        else if (st->flags & ST_CALLED)
            st->flags |= ST_FETCHED;
        st->s = m->s;
        st->m = st->role = st->w = 0;
        if (p == MT_PH_BACKWARD)
            st->recompute =
                0; /* re-entrant checkpointing: recompute is over, its own backward began */
        if (p == MT_PH_GRAD_REDUCE)
            st->reduce = m->s;
    }
    if (m->m != 0) {
        enum mt_phase p = mt_rule_phase(r, m->m);
        if (p == MT_PH_RECOMPUTE) {
            st->recompute = m->m;
        } else if (p == MT_PH_GRAD_REDUCE) {
            st->reduce = m->m;
        } else {
            st->m = m->m;
            st->role = 0;
        }
    }
    if (m->role != 0)
        st->role = m->role;
    if (m->w != 0) {
        st->w = m->w;
        st->flags |= ST_CALLED;
    }
}

/* The function without gradients that all others of this stack are called from. */
static void step_no_grad(struct state *st, const struct mt_marks *m)
{
    const unsigned pass =
        MK_ENGINE | MK_NAME_FORWARD | MK_NAME_BACKWARD | MK_LOSS_CALL | MK_BACKWARD_CALL | ST_MIXED;
    bool inside =
        st->s != 0 || st->w != 0 || st->o != 0 || st->recompute != 0 || (st->flags & pass);
    st->flags &= (uint16_t)~ST_WRAPPED;
    if ((m->flags & MK_NO_GRAD) && st->under == 0)
        st->flags |= inside ? ST_MIXED : ST_WRAPPED;
}

/* One frame further in. */
static void step(const struct mt_phase_rules *r, struct state *st, const struct mt_marks *m)
{
    if (!(m->flags & MK_PYTHON)) {
        st->flags |= m->flags;
        return;
    }
    if (m->o != 0 && !(st->flags & MK_PYTHON))
        st->o = m->o;
    step_no_grad(st, m);
    step_coarse(r, st, m);
    step_inner(r, st, m);
    if (m->n != 0 && (r->code.p[m->n].flags & MT_RF_KEPT))
        st->kept = st->kept == 0 ? m->n : st->kept;
    else if (st->n == 0)
        st->n = m->n;
    if (st->p == 0)
        st->p = m->p;
    if (m->flags & (MK_NAME_FORWARD | MK_NAME_BACKWARD))
        st->flags &= (uint16_t) ~(MK_NAME_FORWARD | MK_NAME_BACKWARD);
    st->flags |= m->flags;
}

/* ---- verdicts ---- */

static void set_sub(struct mt_stack_verdict *v, const struct mt_phase_rules *r, enum mt_phase sub,
                    uint32_t rule)
{
    v->sub = (uint8_t)sub;
    v->rule = (uint16_t)rule;
    v->sub_conf = (uint8_t)mt_rule_conf(r, rule);
}

/* The innermost sub-phase marker, and what stands in for one. */
static void judge_marker(const struct mt_phase_rules *r, const struct state *st,
                         struct mt_stack_verdict *v)
{
    enum mt_phase s = st->s != 0 ? mt_rule_phase(r, st->s) : MT_PH_NONE;
    if (s == MT_PH_INIT && st->w == 0 && (st->flags & ST_FETCHED)) {
        set_sub(v, r, MT_PH_ONLOAD_OFFLOAD, st->s);
    } else if (s != MT_PH_NONE && mt_phase_is(s, MT_COARSE)) {
        if (st->w != 0)
            set_sub(v, r, MT_PH_FORWARD, st->w);
        else if (s == MT_PH_ONLOAD_OFFLOAD && v->own != MT_PH_NONE && v->own != s)
            set_sub(v, r, s, st->s);
        if (v->own == MT_PH_NONE) {
            v->local = (uint8_t)s;
            v->local_conf = (uint8_t)mt_rule_conf(r, st->s);
            v->rule = v->rule != 0 ? v->rule : st->s;
        }
    } else if (s == MT_PH_OPTIMIZER && st->w != 0) {
        set_sub(v, r, MT_PH_FORWARD, st->w); /* a closure: the model runs inside optimizer.step */
    } else if (s != MT_PH_NONE) {
        set_sub(v, r, s, st->s);
    } else if (st->w != 0) {
        set_sub(v, r, MT_PH_FORWARD, st->w);
        v->flags |= MT_VF_WEAK;
    } else if (st->flags & MK_NAME_BACKWARD) {
        set_sub(v, r, MT_PH_BACKWARD, MT_METHOD_NAME_BACKWARD);
        v->flags |= MT_VF_BY_NAME;
    } else if (st->flags & MK_NAME_FORWARD) {
        set_sub(v, r, MT_PH_FORWARD, MT_METHOD_NAME_FORWARD);
        v->flags |= MT_VF_BY_NAME;
    }
}

/* A marker that says more than the sub-phase becomes it; a role without a phase of its own only
 * names the rule. */
static void judge_role(const struct mt_phase_rules *r, const struct state *st,
                       struct mt_stack_verdict *v)
{
    enum mt_phase m = st->m != 0 ? mt_rule_phase(r, st->m) : MT_PH_NONE,
                  sub = (enum mt_phase)v->sub;
    bool in_forward = sub == MT_PH_FORWARD || sub == MT_PH_LOSS || sub == MT_PH_NONE;
    bool tells = false;
    if (v->flags & MT_VF_CERTAIN)
        in_forward = false;
    if (m == MT_PH_LOGITS || m == MT_PH_COMPILE || m == MT_PH_COMPILE_AUTOTUNE)
        tells = in_forward;
    else if (m == MT_PH_FSDP_UNSHARD)
        tells = in_forward && sub != MT_PH_LOSS;
    else if (m == MT_PH_OPTIM_STATE_INIT)
        tells = sub == MT_PH_OPTIMIZER;
    else if (m == MT_PH_COMM)
        tells = sub == MT_PH_NONE;
    if (tells && v->own != MT_PH_NONE && mt_rule_conf(r, st->m) < (enum mt_conf)v->own_conf)
        tells = false; /* not worth making a known phase look uncertain */
    if (tells) {
        set_sub(v, r, m, st->m);
        v->flags &= (uint8_t) ~(MT_VF_WEAK | MT_VF_BY_NAME);
    }
    if (st->role != 0)
        v->rule = st->role;
}

/* ---- functions without gradients ---- */

/* What stacks below them show. A function that asks for gradients is none of them: @enable_grad has
 * the same wrapper. */
struct under {
    uint32_t key;
    bool runs_model, asks_gradients;
};
struct unders {
    struct under *p; /* by key */
    uint32_t n;
    bool none; /* nothing is proven */
    /* functions with a name that says "evaluation" ask for no gradients, and others do or nobody */
    bool names_hold;
};

static bool is_model_run(const struct mt_phase_rules *r, const struct state *st)
{
    enum mt_phase s = st->s != 0 ? mt_rule_phase(r, st->s) : MT_PH_NONE;
    return st->w != 0 || s == MT_PH_FORWARD || s == MT_PH_LOGITS;
}

static int by_key(const void *a, const void *b)
{
    uint32_t x = ((const struct under *)a)->key, y = ((const struct under *)b)->key;
    return (x > y) - (x < y);
}

/* With a backward pass some forward pass has gradients: where all are in such functions, nobody
 * knows which. */
static int unders_build(struct unders *u, const struct mt_phase_rules *r,
                        const struct mt_pool *states)
{
    bool has_backward = false, has_forward = false, named_asks = false, calls = false;
    bool has_other_forward = false;
    uint32_t n = 0;
    u->p = mt_calloc((size_t)states->n + 1, sizeof *u->p);
    if (u->p == NULL)
        return 0;
    for (uint32_t i = 0; i < states->n; i++) {
        const struct state *st = mt_pool_at(states, i);
        bool asks = (st->flags & (MK_ENGINE | MK_BACKWARD_CALL)) != 0, runs = is_model_run(r, st);
        bool is_named = st->n != 0 && (r->code.p[st->n].flags & MT_RF_UNASKED) != 0;
        has_backward = has_backward || asks;
        named_asks = named_asks || (asks && is_named);
        calls = calls || (st->flags & MK_BACKWARD_CALL) != 0;
        has_other_forward = has_other_forward || (runs && !is_named);
        has_forward = has_forward || (runs && !asks && st->under == 0);
        if (st->under != 0 && (asks || runs))
            u->p[n++] = (struct under){st->under, runs && !asks, asks};
    }
    qsort(u->p, n, sizeof *u->p, by_key);
    for (uint32_t i = 0; i < n; i++) {
        struct under *last = u->n != 0 ? &u->p[u->n - 1] : NULL;
        if (last == NULL || last->key != u->p[i].key) {
            u->p[u->n++] = u->p[i];
            continue;
        }
        last->runs_model = last->runs_model || u->p[i].runs_model;
        last->asks_gradients = last->asks_gradients || u->p[i].asks_gradients;
    }
    u->none = has_backward && !has_forward;
    u->names_hold = !named_asks && (!has_backward || (calls && has_other_forward));
    return 1;
}

static bool is_no_grad(const struct unders *u, const struct state *st)
{
    struct under key = {st->under, false, false};
    const struct under *found = st->under != 0 && !u->none && u->n != 0
                                    ? bsearch(&key, u->p, u->n, sizeof *u->p, by_key)
                                    : NULL;
    return found != NULL && found->runs_model && !found->asks_gradients;
}

/* Names that a training loop uses with gradients as well tell nothing without that proof. */
static bool name_needs_proof(enum mt_phase p)
{
    return p != MT_PH_LOGP_REF && p != MT_PH_WEIGHT_SYNC && p != MT_PH_ROLLOUT_WAKE_SLEEP &&
           !mt_phase_is(p, MT_TRAINS);
}

/* The last resort, where no rule of a framework matches: what the job's own functions are called,
 * and that they run without gradients. */
static void judge_own_code(const struct mt_phase_rules *r, const struct state *st,
                           const struct unders *u, struct mt_stack_verdict *v)
{
    enum mt_phase p = st->n != 0 ? mt_rule_phase(r, st->n) : MT_PH_NONE;
    bool trains = mt_phase_is(v->sub, MT_TRAINS), by_name, no_grad = is_no_grad(u, st);
    bool holds = u->names_hold && st->n != 0 && (r->code.p[st->n].flags & MT_RF_UNASKED) != 0;
    if (no_grad && !trains)
        v->flags |= MT_VF_NO_GRAD;
    else
        no_grad = false;
    if (st->under != 0 && !no_grad && !trains && !u->none)
        v->flags |= MT_VF_WRAPPED;
    if (v->own != MT_PH_NONE || v->local != MT_PH_NONE || (v->flags & MT_VF_CERTAIN))
        return;
    by_name = p != MT_PH_NONE &&
              (mt_phase_is(p, MT_TRAINS) ? !no_grad
                                         : !trains && (no_grad || holds || !name_needs_proof(p)));
    if (!by_name && !trains && p != MT_PH_NONE && !mt_phase_is(p, MT_TRAINS))
        v->hint = (uint8_t)p;
    if (!by_name && !no_grad)
        return;
    v->flags |= MT_VF_NAMED;
    if (by_name && mt_phase_is(p, MT_TRAINS)) { /* its backward pass has no frames of its own */
        v->own = (uint8_t)p;
        v->own_conf = (uint8_t)(trains ? MT_CONF_INFERRED : MT_CONF_LOW);
        v->own_rule = st->n;
    } else {
        v->local = (uint8_t)(by_name ? p : MT_PH_INFER);
        v->local_conf = (uint8_t)(no_grad ? MT_CONF_INFERRED : MT_CONF_LOW);
    }
    if (v->rule == 0)
        v->rule = by_name ? st->n : MT_METHOD_NO_GRAD;
}

/* PyTorch gathers a model's state for whoever asks: most often it is saved, unless the job's own
 * name says that it is sent. */
static bool is_presumed(const struct mt_phase_rules *r, const struct state *st)
{
    return st->c == 0 && st->p != 0 && (st->n == 0 || mt_rule_phase(r, st->n) != MT_PH_WEIGHT_SYNC);
}

static void judge(const struct mt_phase_rules *r, const struct state *st, const struct unders *u,
                  struct mt_stack_verdict *v)
{
    memset(v, 0, sizeof *v);
    v->own = v->local = v->sub = v->hint = MT_PH_NONE;
    v->kept_rule = st->kept;
    v->flags = (uint8_t)((st->flags & MK_PYTHON ? MT_VF_PYTHON : 0) |
                         (st->flags & MK_MAKE_GRADS ? MT_VF_MAKE_GRADS : 0));
    if (st->c != 0) {
        v->own = (uint8_t)mt_rule_phase(r, st->c);
        v->own_conf = (uint8_t)mt_rule_conf(r, st->c);
        v->own_rule = st->c;
    } else if (is_presumed(r, st)) {
        v->own = (uint8_t)mt_rule_phase(r, st->p);
        v->own_conf = (uint8_t)mt_conf_min(mt_rule_conf(r, st->p), MT_CONF_INFERRED);
        v->own_rule = st->p;
        v->flags |= MT_VF_NAMED; /* an annotation knows better */
    }
    if ((st->flags & MK_ENGINE) || st->o != 0) {
        v->flags |= MT_VF_CERTAIN;
        if (st->reduce != 0)
            set_sub(v, r, MT_PH_GRAD_REDUCE, st->reduce);
        else if (st->recompute != 0)
            set_sub(v, r, MT_PH_RECOMPUTE, st->recompute);
        else
            set_sub(v, r, MT_PH_BACKWARD, st->flags & MK_ENGINE ? MT_METHOD_ENGINE : st->o);
    } else if (st->recompute != 0) {
        set_sub(v, r, MT_PH_RECOMPUTE, st->recompute);
    } else {
        judge_marker(r, st, v);
        if (st->reduce != 0 &&
            (v->sub == MT_PH_BACKWARD || (v->sub == MT_PH_NONE && v->local == MT_PH_NONE)))
            set_sub(v, r, MT_PH_GRAD_REDUCE, st->reduce);
    }
    judge_role(r, st, v);
    if (st->rollout != 0 && !mt_phase_is(v->sub, MT_TRAINS) && v->own == MT_PH_EVAL)
        set_sub(v, r, mt_rule_phase(r, st->rollout), st->rollout);
    if (v->rule == 0)
        v->rule = v->own_rule;
    judge_own_code(r, st, u, v);
    if ((st->flags & ST_NO_GRAD) && !(v->flags & MT_VF_CERTAIN) && !mt_phase_is(v->sub, MT_TRAINS))
        v->flags |= MT_VF_NO_GRAD;
    if (v->rule == 0)
        v->rule = MT_METHOD_NO_SIGNATURE;
}

/* ---- one pass over all stacks ---- */

struct step_memo {
    uint32_t state, mark, next; /* mark + 1; 0 = empty */
};
#define N_MEMO 4096u

/* Verdict numbers outgrow 16 bits only in traces made to do so. */
static int widen(struct mt_phaser *p, uint32_t n)
{
    p->node32 = mt_malloc((size_t)p->t->stacks.n * sizeof *p->node32);
    if (p->node32 == NULL)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        p->node32[i] = p->node16[i];
    mt_free(p->node16);
    p->node16 = NULL;
    return 1;
}

/* A Python frame that is no wrapper itself. */
static bool is_function(const struct mt_marks *m)
{
    return (m->flags & (MK_PYTHON | MK_NO_GRAD)) == MK_PYTHON;
}

static uint32_t function_key(const struct mt_frame *f)
{
    uint32_t h = (f->name * 2654435761u) ^ (f->file * 40503u + 1);
    return h != 0 ? h : 1;
}

static int step_nodes(struct mt_phaser *p, struct mt_pool *states, const struct mt_pool *marks,
                      const uint16_t *of_frame, struct step_memo *memo)
{
    const struct mt_stack_node *node = p->t->stacks.p;
    for (uint32_t i = 1; i < p->t->stacks.n; i++) {
        uint32_t up = node[i].parent < i ? node[i].parent : 0;
        uint32_t from = p->node16 != NULL ? p->node16[up] : p->node32[up];
        uint32_t mark = of_frame[node[i].frame];
        struct step_memo *m = &memo[(from * 2654435761u ^ mark * 40503u) % N_MEMO];
        if (m->mark != mark + 1 || m->state != from) {
            struct state st;
            uint32_t next;
            memcpy(&st, mt_pool_at(states, from), sizeof st);
            bool is_wrapped = (st.flags & ST_WRAPPED) != 0 && is_function(mt_pool_at(marks, mark));
            step(p->rules, &st, mt_pool_at(marks, mark));
            if (is_wrapped)
                st.under = function_key(&p->t->frames.p[node[i].frame]);
            if (!mt_pool_add(states, &st, &next))
                return 0;
            /* it depends on more than its marks */
            *m = (struct step_memo){is_wrapped ? UINT32_MAX : from, mark + 1, next};
        }
        if (m->next > UINT16_MAX && p->node32 == NULL && !widen(p, i))
            return 0;
        if (p->node16 != NULL)
            p->node16[i] = (uint16_t)m->next;
        else
            p->node32[i] = m->next;
    }
    return 1;
}

enum mt_rc mt_match_build(struct mt_phaser *p, struct mt_err *err)
{
    struct mt_pool marks = {.size = sizeof(struct mt_marks)},
                   states = {.size = sizeof(struct state)};
    struct state none;
    struct unders unders = {NULL, 0, false, false};
    uint16_t *of_frame = mt_calloc((size_t)p->t->frames.n + 1, sizeof *of_frame);
    struct step_memo *memo = mt_calloc(N_MEMO, sizeof *memo);
    uint32_t zero;
    enum mt_rc rc = MT_ENOMEM;
    memset(&none, 0, sizeof none);
    p->node16 = mt_calloc((size_t)p->t->stacks.n + 1, sizeof *p->node16);
    if (of_frame == NULL || memo == NULL || p->node16 == NULL ||
        !mt_pool_add(&states, &none, &zero) || !mt_mark_frames(p, &marks, of_frame) ||
        !step_nodes(p, &states, &marks, of_frame, memo) ||
        !unders_build(&unders, p->rules, &states))
        goto out;
    for (uint32_t i = 0; i < states.n; i++) {
        struct mt_stack_verdict *v = MT_VEC_PUSH(&p->verdict);
        struct state st;
        if (v == NULL)
            goto out;
        memcpy(&st, mt_pool_at(&states, i), sizeof st);
        judge(p->rules, &st, &unders, v);
    }
    rc = MT_OK;
out:
    mt_pool_done(&marks);
    mt_pool_done(&states);
    mt_free(of_frame);
    mt_free(memo);
    mt_free(unders.p);
    return rc < 0 ? mt_fail(err, rc, "out of memory while attributing stacks to phases") : rc;
}
