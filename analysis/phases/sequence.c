/* The events of one device in order. A stack often says only what happens inside a phase (forward,
 * backward); which phase that is comes from the neighbours in time: the last one known, or the
 * next. Nothing is looked up twice: an event that has to wait for a later one holds a placeholder,
 * and is settled in one sweep when that one comes. */
#include "analysis/phases/impl.h"
#include "analysis/base/frames.h"

/* Placeholders in struct mt_attr.phase while the phase is not known yet. */
enum {
    WAIT_TRAIN = 250,   /* training; actor or critic is said by the next marker */
    WAIT_FORWARD = 251, /* a forward pass before anything is known: training if that comes next */
    WAIT_REST = 249 /* what follows a forward pass after mere set-up: still set-up, unless nothing
                       else is known after it */
};

#define MAX_WAITING_SEGMENTS 32
#define MAX_SEGMENT_WAIT 64 /* events; the allocator makes a segment and uses it under one lock */

/* Allocations without frames, by what stands before and after them. */
struct frameless {
    const struct mt_stack_verdict *prev; /* of the allocation before; NULL at the start */
    bool in_run, is_backward;            /* since the root gradient */
    uint8_t phase;                       /* training phase before the run, MT_PH_NONE */
    uint64_t from;
};

struct run {
    const struct mt_phaser *p;
    const struct mt_device *d;
    struct mt_attr *out;
    struct mt_spans coarse, inner; /* annotations */
    bool has_annotations;
    uint8_t training; /* what a backward pass without a marker is of; MT_PH_NONE = of no training */
    uint8_t last;     /* coarse phase that goes on; MT_PH_NONE, a phase, or WAIT_TRAIN */
    /* the same without interruptions (weight sync, checkpoint): what a forward pass returns to */
    uint8_t base;
    uint8_t fallback; /* of WAIT_FORWARD, when no training follows */
    /* some event holds a placeholder; a training one of the main thread is among them */
    bool is_waiting, waits_for_marker;
    uint64_t wait_from;
    struct mt_attr hold; /* for events that are no allocation */
    struct frameless frameless;
    int8_t has_backward; /* -1 = not looked yet */
    bool ran;            /* a pass that trains nothing, by its own stack */
    /* segment_alloc and segment_map whose allocation has not come */
    uint64_t segment[MAX_WAITING_SEGMENTS];
    uint32_t n_segments;
};

static struct mt_attr attr(uint8_t phase, uint8_t sub, uint32_t rule, enum mt_conf conf)
{
    struct mt_attr a = {(uint16_t)(rule << 4 | (uint32_t)conf), phase, sub};
    return a;
}

static void set_conf(struct mt_attr *a, enum mt_conf conf)
{
    a->rule_conf = (uint16_t)((a->rule_conf & ~7u) | (uint32_t)conf);
}

/* A pair of phase and sub-phase is as sure as its weaker half. */
static enum mt_conf pair_conf(enum mt_conf phase, uint8_t sub, enum mt_conf sub_conf)
{
    return sub == MT_PH_NONE ? phase : mt_conf_min(phase, sub_conf);
}

/* ---- waiting ---- */

static bool without_signature(const struct mt_attr *a)
{
    uint32_t rule = (uint32_t)a->rule_conf >> 4;
    return a->sub == MT_PH_NONE && (rule == MT_METHOD_NO_SIGNATURE || rule == MT_METHOD_NO_STACK);
}

static void settle_one(const struct run *r, struct mt_attr *a, uint8_t training)
{
    if (a->phase == WAIT_TRAIN) {
        a->phase = training != MT_PH_NONE ? training : MT_PH_UNATTRIBUTED;
    } else if (a->phase == WAIT_REST) {
        a->phase = r->fallback != MT_PH_NONE ? r->fallback : MT_PH_UNATTRIBUTED;
        if (r->fallback == MT_PH_NONE && a->sub == MT_PH_NONE)
            set_conf(a, MT_CONF_NONE);
        else if (r->fallback != MT_PH_NONE)
            *a = attr(a->phase, a->sub,
                      without_signature(a) ? MT_METHOD_CARRY : (uint32_t)a->rule_conf >> 4,
                      pair_conf(MT_CONF_CARRIED, a->sub, mt_attr_conf(*a)));
    } else if (a->phase == WAIT_FORWARD) {
        if (training != MT_PH_NONE) {
            a->phase = training;
            set_conf(a, mt_conf_min(mt_attr_conf(*a), MT_CONF_INFERRED));
        } else if (r->fallback != MT_PH_NONE) {
            a->phase = r->fallback;
            set_conf(a, mt_conf_min(mt_attr_conf(*a), MT_CONF_CARRIED));
        } else {
            a->phase = MT_PH_UNATTRIBUTED;
        }
    }
}

/* `training` is what the waiting events turn out to be; MT_PH_NONE when no training came. */
static void settle(struct run *r, uint64_t end, uint8_t training)
{
    if (!r->is_waiting)
        return;
    for (uint64_t i = r->wait_from; i < end; i++)
        settle_one(r, &r->out[i], training);
    settle_one(r, &r->hold, training);
    if (r->last == WAIT_TRAIN)
        r->last = training;
    if (r->base == WAIT_TRAIN)
        r->base = training;
    r->is_waiting = r->waits_for_marker = false;
}

static void wait(struct run *r, uint64_t i)
{
    if (r->is_waiting)
        return;
    r->is_waiting = true;
    r->wait_from = r->n_segments != 0 ? r->segment[0] : i;
}

/* ---- phases ---- */

static bool is_forward(uint8_t sub)
{
    return mt_phase_is(sub, MT_IN_FORWARD) || sub == MT_PH_FSDP_UNSHARD;
}

static bool is_allocation(const struct mt_event *e)
{
    return e->action == MT_ACT_ALLOC || e->action == MT_ACT_OOM;
}

/* Gradients that are asked for by torch.autograd.grad alone, where no module is called and no
 * optimizer steps, are forces or scores of a sampler, not a training: nothing tells what it is. */
static uint8_t training_of(const struct mt_trace *t)
{
    static const char grad[] = "torch/autograd/__init__.py";
    bool trains = !mt_trace_goes_through(t, grad, "grad") ||
                  mt_trace_goes_through(t, grad, "backward") ||
                  mt_trace_goes_through(t, "torch/_tensor.py", "backward") ||
                  mt_trace_goes_through(t, "torch/nn/modules/module.py", "_call_impl") ||
                  mt_trace_has_frame(t, "torch/optim/", "");
    return trains ? MT_PH_TRAIN : MT_PH_NONE;
}

static struct mt_attr known_phase(struct run *r, uint64_t i, uint8_t phase, enum mt_conf conf,
                                  uint8_t sub, enum mt_conf sub_conf, uint32_t rule)
{
    bool waits_for_train = r->last == WAIT_TRAIN || r->base == WAIT_TRAIN;
    settle(r, i,
           mt_phase_is(phase, MT_TRAINS) ? phase
           : waits_for_train             ? r->training
                                         : MT_PH_NONE);
    r->last = phase;
    if (!mt_phase_is(phase, MT_INTERRUPTS))
        r->base = phase;
    return attr(phase, sub, rule, pair_conf(conf, sub, sub_conf));
}

/* The sub-phase implies training: the last training phase, else the next one, else training of
 * unknown role. */
static struct mt_attr implied_training(struct run *r, uint64_t i, bool is_autograd_thread,
                                       uint8_t sub, enum mt_conf sub_conf, uint32_t rule)
{
    uint8_t phase = r->base;
    if (phase == WAIT_TRAIN && r->training != MT_PH_NONE &&
        (r->waits_for_marker || !is_autograd_thread)) {
        settle(r, i, MT_PH_TRAIN); /* the main thread trains without any framework's marker */
        phase = MT_PH_TRAIN;
    }
    if (!mt_phase_is(phase, MT_TRAINS) && phase != WAIT_TRAIN) {
        phase = WAIT_TRAIN;
        wait(r, i);
        r->waits_for_marker = !is_autograd_thread;
    }
    r->last = r->base = phase;
    return attr(phase, sub, rule, pair_conf(MT_CONF_INFERRED, sub, sub_conf));
}

static struct mt_attr carried(struct run *r, uint64_t i, uint8_t sub, enum mt_conf sub_conf,
                              uint32_t rule, uint8_t hint)
{
    uint8_t phase = is_forward(sub) ? r->base : r->last;
    if (is_forward(sub) &&
        (phase == MT_PH_NONE || phase == MT_PH_INIT || phase == MT_PH_ROLLOUT_INIT)) {
        if (!r->is_waiting)
            r->fallback = phase;
        wait(r, i);
        return attr(WAIT_FORWARD, sub, rule, sub_conf);
    }
    if (phase == MT_PH_INIT && r->is_waiting)
        return attr(WAIT_REST, sub, rule, sub == MT_PH_NONE ? MT_CONF_CARRIED : sub_conf);
    if (phase == MT_PH_NONE)
        return attr(MT_PH_UNATTRIBUTED, sub, rule, sub == MT_PH_NONE ? MT_CONF_NONE : sub_conf);
    if (hint != MT_PH_NONE && phase < MT_PH_COUNT && !mt_phase_is(phase, MT_TRAINS))
        return attr(hint, sub, rule, pair_conf(MT_CONF_LOW, sub, sub_conf));
    if (mt_phase_is(sub, MT_IN_FORWARD) && mt_phase_is(r->last, MT_INTERRUPTS))
        r->last = phase; /* the model runs again: the interruption is over for what follows, too */
    if (sub == MT_PH_NONE && (rule == MT_METHOD_NO_SIGNATURE || rule == MT_METHOD_NO_STACK))
        rule = MT_METHOD_CARRY;
    return attr(phase, sub, rule, pair_conf(MT_CONF_CARRIED, sub, sub_conf));
}

/* ---- allocations without frames ---- */

/* Autograd threads have no Python frames: with stacks="python" their allocations have none at all.
 * They come right after the root gradient, or stand between two allocations of the same training
 * phase. `ends`: a run of the latter kind ended before this one. */
static bool is_frameless_backward(struct frameless *f, uint64_t i, mt_stack_id stack,
                                  const struct mt_stack_verdict *v, bool *ends)
{
    *ends = false;
    if (f->in_run && (v->flags & MT_VF_PYTHON)) {
        *ends = !f->is_backward && f->phase != MT_PH_NONE && v->own == f->phase;
        f->in_run = false;
    }
    if (stack == 0 && !f->in_run) {
        f->in_run = true;
        f->from = i;
        f->is_backward = f->prev != NULL && (f->prev->flags & MT_VF_MAKE_GRADS);
        f->phase =
            f->prev != NULL && mt_phase_is(f->prev->own, MT_TRAINS) ? f->prev->own : MT_PH_NONE;
    }
    f->prev = v;
    return stack == 0 && f->is_backward;
}

static bool follow_run(struct run *r, uint64_t i, mt_stack_id stack,
                       const struct mt_stack_verdict *v)
{
    bool ends, after_root = is_frameless_backward(&r->frameless, i, stack, v, &ends);
    for (uint64_t k = r->frameless.from; ends && k < i; k++) {
        const struct mt_event *e = mt_event_at(r->d, k);
        if (is_allocation(e) && e->stack == 0 && r->out[k].sub == MT_PH_NONE)
            r->out[k] =
                attr(r->out[k].phase, MT_PH_BACKWARD, MT_METHOD_EMPTY_WINDOW, MT_CONF_INFERRED);
    }
    return after_root;
}

/* A loss is computed in evaluations too; with a backward pass in the same trace it is one of
 * training. That pass may have no frames, or only a recorded range. */
static bool has_backward(struct run *r)
{
    struct frameless f = {.prev = NULL};
    if (r->has_backward >= 0)
        return r->has_backward != 0;
    r->has_backward = 0;
    for (uint32_t k = 0; r->has_backward == 0 && k < r->inner.v.n; k++)
        r->has_backward =
            mt_phase_is(mt_rule_phase(r->p->rules, r->inner.v.p[k].rule), MT_IN_BACKWARD);
    for (uint64_t i = 0; r->has_backward == 0 && i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        const struct mt_stack_verdict *v = mt_stack_verdict_of(r->p, e->stack);
        bool ends;
        if (is_allocation(e))
            r->has_backward = is_frameless_backward(&f, i, e->stack, v, &ends) || ends ||
                              mt_phase_is(v->sub, MT_IN_BACKWARD);
    }
    return r->has_backward != 0;
}

/* A run without frames that memory ran out in, behind code with Python frames, where the trace has
 * backward passes: nothing else than autograd's threads works without frames. torch.autograd.grad()
 * with gradients of its own makes no root gradient. */
static void end_run(struct run *r)
{
    const struct frameless *f = &r->frameless;
    uint64_t before = f->from;
    bool failed = false;
    if (!f->in_run || f->is_backward)
        return;
    while (before-- > 0 && !is_allocation(mt_event_at(r->d, before)))
        ;
    for (uint64_t k = f->from; k < r->d->events.n; k++)
        failed = failed || mt_event_at(r->d, k)->action == MT_ACT_OOM;
    if (before == UINT64_MAX || !failed || !has_backward(r) ||
        !(mt_stack_verdict_of(r->p, mt_event_at(r->d, before)->stack)->flags & MT_VF_PYTHON))
        return;
    for (uint64_t k = f->from; k < r->d->events.n; k++)
        if (is_allocation(mt_event_at(r->d, k)) && r->out[k].sub == MT_PH_NONE)
            r->out[k] =
                attr(r->out[k].phase, MT_PH_BACKWARD, MT_METHOD_EMPTY_WINDOW, MT_CONF_INFERRED);
}

/* ---- annotations ---- */

/* Frames that share a name for several roles give way to an annotation that tells the role. */
static bool refines(uint8_t phase, uint8_t by)
{
    switch (phase) {
    case MT_PH_TRAIN: return by != phase && mt_phase_is(by, MT_TRAINS);
    case MT_PH_INFER: return by != phase && mt_phase_is(by, MT_FORWARD_ONLY);
    case MT_PH_LOGP: return by != phase && mt_phase_is(by, MT_LOGP);
    /* with LoRA the reference pass runs through the actor's function */
    case MT_PH_LOGP_OLD: return by == MT_PH_LOGP_REF;
    default: return false;
    }
}

/* What an annotation says where frames say nothing, or only that a module is called or a name
 * sounds like it. */
static bool annotation_sub(struct run *r, uint64_t i, const struct mt_stack_verdict *v,
                           uint32_t *rule)
{
    *rule = mt_spans_rule(&r->inner, mt_event_ns(r->d, i));
    if (*rule == 0)
        return false;
    if (v->flags & MT_VF_WEAK) /* a closure: modules run inside optimizer.step, but never in the
                                  optimizer itself */
        return mt_rule_phase(r->p->rules, *rule) != MT_PH_OPTIMIZER;
    return v->sub == MT_PH_NONE || (v->flags & MT_VF_BY_NAME);
}

static struct mt_attr one_allocation(struct run *r, uint64_t i, const struct mt_event *e)
{
    const struct mt_phase_rules *rules = r->p->rules;
    const struct mt_stack_verdict *v = mt_stack_verdict_of(r->p, e->stack);
    uint8_t sub = v->sub, own = v->own, local = v->local;
    enum mt_conf sub_conf = (enum mt_conf)v->sub_conf, own_conf = (enum mt_conf)v->own_conf;
    uint32_t rule = e->stack == 0 ? MT_METHOD_NO_STACK : v->rule, range, a;
    bool is_autograd_thread = (v->flags & MT_VF_CERTAIN) != 0;
    struct mt_attr known;
    if (follow_run(r, i, e->stack, v)) {
        sub = MT_PH_BACKWARD;
        sub_conf = MT_CONF_INFERRED;
        rule = MT_METHOD_EMPTY_RUN;
        is_autograd_thread = true;
    } else if (r->has_annotations && annotation_sub(r, i, v, &a)) {
        sub = (uint8_t)mt_rule_phase(rules, a);
        sub_conf = mt_rule_conf(rules, a);
        rule = a;
    }
    range = r->has_annotations ? mt_spans_rule(&r->coarse, mt_event_ns(r->d, i)) : 0;
    if (range != 0 &&
        (v->flags &
         MT_VF_NAMED)) /* what the job says itself is more than what its functions are called */
        own = local = MT_PH_NONE;
    if (range != 0) {
        uint8_t phase = (uint8_t)mt_rule_phase(rules, range);
        bool trains = mt_phase_is(sub, MT_TRAINS);
        if (refines(own, phase) || (own == MT_PH_NONE && local == MT_PH_NONE &&
                                    (!trains || mt_phase_is(phase, MT_TRAINS)))) {
            if (sub == MT_PH_NONE)
                rule = range;
            if (own == MT_PH_NONE)
                return attr(phase, sub, rule, pair_conf(mt_rule_conf(rules, range), sub, sub_conf));
            known = known_phase(r, i, phase, mt_rule_conf(rules, range), sub, sub_conf, rule);
            r->last = r->base = own; /* what goes on after the range is for the frames to say */
            return known;
        }
    }
    if (own != MT_PH_NONE)
        return known_phase(r, i, own, own_conf, sub, sub_conf, rule);
    if (mt_phase_is(sub, MT_TRAINS) ||
        (sub == MT_PH_LOSS && !(local != MT_PH_NONE && (v->flags & MT_VF_NAMED)) &&
         has_backward(r)))
        return implied_training(r, i, is_autograd_thread, sub, sub_conf, rule);
    r->ran = r->ran || mt_phase_is(local, MT_FORWARD_ONLY);
    if (local != MT_PH_NONE)
        return attr(local, sub, rule, pair_conf((enum mt_conf)v->local_conf, sub, sub_conf));
    /* what a job that trains nothing makes of what its passes gave */
    if (r->ran && (v->flags & MT_VF_WRAPPED) &&
        (r->last == MT_PH_NONE || mt_phase_is(r->last, MT_SETS_UP)) && !has_backward(r))
        return attr(MT_PH_INFER, sub, MT_METHOD_NO_GRAD, pair_conf(MT_CONF_CARRIED, sub, sub_conf));
    return carried(r, i, sub, sub_conf, rule, v->hint);
}

/* A segment is made for the allocation that follows in it. */
static void give_segments(struct run *r, uint64_t i, const struct mt_event *alloc)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->n_segments; k++) {
        const struct mt_event *s = mt_event_at(r->d, r->segment[k]);
        if (alloc->addr - s->addr < s->size)
            r->out[r->segment[k]] = r->out[i];
        else
            r->segment[n++] = r->segment[k];
    }
    r->n_segments = n;
}

/* One that no allocation ever lands in would make every later wait() begin at it again. */
static void forget_old_segments(struct run *r, uint64_t i)
{
    uint32_t n_old = 0;
    while (n_old < r->n_segments && i - r->segment[n_old] > MAX_SEGMENT_WAIT)
        n_old++;
    for (uint32_t k = n_old; k < r->n_segments; k++)
        r->segment[k - n_old] = r->segment[k];
    r->n_segments -= n_old;
}

static void wait_for_allocation(struct run *r, uint64_t i)
{
    if (r->n_segments == MAX_WAITING_SEGMENTS) { /* the oldest keeps the phase that held */
        for (uint32_t k = 1; k < r->n_segments; k++)
            r->segment[k - 1] = r->segment[k];
        r->n_segments--;
    }
    r->segment[r->n_segments++] = i;
}

/* From now on it holds for what is no allocation. Mostly it did already: written anew each time, a
 * byte here and two there, it would be waited for when it is next read as a whole. */
static void hold(struct run *r, struct mt_attr a)
{
    if (mt_attr_conf(a) != MT_CONF_NONE)
        a.rule_conf = MT_METHOD_CARRY << 4 | MT_CONF_CARRIED;
    if (a.rule_conf != r->hold.rule_conf || a.phase != r->hold.phase || a.sub != r->hold.sub)
        r->hold = a;
}

/* The attribution of the last allocation, where its stack tells all of it: the next one with the
 * same stack has the same, as the state it is told by did not change. */
struct told {
    mt_stack_id stack; /* 0 = none */
    struct mt_attr attr;
};

/* As one_allocation() has it, with what the stack says of gradients. */
static struct mt_attr attribute(struct run *r, uint64_t i, const struct mt_event *e,
                                struct told *told)
{
    const uint8_t last = r->last, base = r->base, fallback = r->fallback;
    const bool in_run = r->frameless.in_run, is_waiting = r->is_waiting;
    struct mt_attr now = one_allocation(r, i, e);
    if ((mt_stack_verdict_of(r->p, e->stack)->flags & MT_VF_NO_GRAD) &&
        !mt_phase_is(now.phase, MT_TRAINS))
        now.rule_conf |= MT_ATTR_NO_GRAD;
    told->attr = now;
    told->stack = !in_run && !r->frameless.in_run && !r->has_annotations && last == r->last &&
                          base == r->base && fallback == r->fallback && is_waiting == r->is_waiting
                      ? e->stack
                      : 0;
    return now;
}

enum mt_rc mt_phaser_run(struct mt_phaser *p, uint32_t device, const struct mt_phase_opts *o,
                         struct mt_attr *out, struct mt_err *err)
{
    const struct mt_device *d = &p->t->devices.p[device];
    struct run r = {.p = p,
                    .d = d,
                    .out = out,
                    .training = training_of(p->t),
                    .last = MT_PH_NONE,
                    .base = MT_PH_NONE,
                    .fallback = MT_PH_NONE,
                    .has_backward = -1};
    struct told told = {0, {0, 0, 0}};
    enum mt_rc rc = MT_OK;
    uint8_t training;
    r.hold = attr(MT_PH_UNATTRIBUTED, MT_PH_NONE, 0, MT_CONF_NONE);
    if (o->use_annotations && d->kind == MT_DEV_CUDA && p->t->ranges.n != 0) {
        rc = mt_spans_build(&r.coarse, p, d->ordinal, true, err);
        if (rc >= 0)
            rc = mt_spans_build(&r.inner, p, d->ordinal, false, err);
        if (rc < 0)
            goto out;
        r.has_annotations = r.coarse.v.n != 0 || r.inner.v.n != 0;
    }
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        if (r.n_segments != 0)
            forget_old_segments(&r, i);
        if (is_allocation(e)) {
            if (told.stack != 0 && e->stack == told.stack)
                out[i] = told.attr; /* which still holds for the rest, too */
            else
                hold(&r, out[i] = attribute(&r, i, e, &told));
            if (r.n_segments != 0 && e->action == MT_ACT_ALLOC)
                give_segments(&r, i, e);
        } else {
            out[i] = r.hold;
            if (e->action == MT_ACT_SEGMENT_ALLOC || e->action == MT_ACT_SEGMENT_MAP)
                wait_for_allocation(&r, i);
        }
    }
    end_run(&r);
    training = r.last == WAIT_TRAIN || r.base == WAIT_TRAIN ? r.training : MT_PH_NONE;
    if (r.fallback == MT_PH_INIT &&
        training == MT_PH_NONE) /* who loads a model and only runs it is not in set-up to the end */
        r.fallback = MT_PH_NONE;
    settle(&r, d->events.n, training);
    /* what these tell of passes, they tell by tensors that a graph keeps */
    if (mt_is_of_tensors(p->t) &&
        (!mt_let_go_find(p->t, d, out) || !mt_goes_on_find(p->t, d, out) ||
         !mt_outside_find(p->t, d, out) || !mt_between_find(p->t, d, out) ||
         !mt_untold_find(p->t, d, out) || !mt_for_none_find(p->t, d, out) ||
         !mt_first_find(p, d, out)))
        rc = mt_fail(err, MT_ENOMEM, "out of memory while attributing stacks to phases");
out:
    MT_VEC_DONE(&r.coarse.v);
    MT_VEC_DONE(&r.inner.v);
    return rc;
}

enum mt_rc mt_phaser_new(struct mt_phaser **out, const struct mt_phase_rules *rules,
                         const struct mt_trace *t, struct mt_err *err)
{
    struct mt_phaser *p = mt_calloc(1, sizeof *p);
    enum mt_rc rc;
    *out = NULL;
    if (p == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory while attributing stacks to phases");
    p->rules = rules;
    p->t = t;
    rc = mt_match_build(p, err);
    if (rc < 0)
        mt_phaser_free(p);
    else
        *out = p;
    return rc;
}

void mt_phaser_free(struct mt_phaser *p)
{
    if (p == NULL)
        return;
    mt_free(p->node16);
    mt_free(p->node32);
    MT_VEC_DONE(&p->verdict);
    mt_free(p);
}

struct mt_attr mt_phaser_stack(struct mt_phaser *p, mt_stack_id stack)
{
    const struct mt_stack_verdict *v;
    if (stack == 0 || stack >= p->t->stacks.n)
        return attr(MT_PH_UNATTRIBUTED, MT_PH_NONE, MT_METHOD_NO_STACK, MT_CONF_NONE);
    v = mt_stack_verdict_of(p, stack);
    if (v->own != MT_PH_NONE)
        return attr(v->own, v->sub, v->rule,
                    pair_conf((enum mt_conf)v->own_conf, v->sub, (enum mt_conf)v->sub_conf));
    if (mt_phase_is(v->sub, MT_TRAINS))
        return attr(MT_PH_TRAIN, v->sub, v->rule,
                    pair_conf(MT_CONF_INFERRED, v->sub, (enum mt_conf)v->sub_conf));
    if (v->local != MT_PH_NONE)
        return attr(v->local, v->sub, v->rule,
                    pair_conf((enum mt_conf)v->local_conf, v->sub, (enum mt_conf)v->sub_conf));
    return attr(MT_PH_UNATTRIBUTED, v->sub, v->rule,
                v->sub == MT_PH_NONE ? MT_CONF_NONE : (enum mt_conf)v->sub_conf);
}
