/* The role and the lifetime of each allocation: its pool, its frames, its exact size, how long it
 * lived, the phase it was born in. */
#include "analysis/roles/impl.h"

/* Limits on lifetimes, in events (an allocation with its free takes three), chosen by hand. Counted
 * over 774 snapshots: in how many reports a role changes with other values; no cause does. */
enum {
    /* One operation's own block is freed within so many. 18: 8 reports; 12 or 30: about 300. */
    SHORT_LIFE = 24,
    /* A block that goes alone, within a few operations, is a temporary. 128: 5; 512: 15. */
    OP_LIFE = 256,
    /* What is read from a checkpoint is copied at once. 4 or 16: none. */
    COPIED = 8,
    /* Live blocks as large as cuBLAS's workspace on Hopper: so many handles x streams; more are
     * tensors of that size. 4 or 16: none. */
    MAX_HOPPER = 8,
    /* A block that is alive after the last allocation of a pass is kept when it is older than this;
     * a younger one is the pass's last temporary. 36: 15; 24: 44; 72: 107. */
    KEPT = 48
};

/* Where the pass over the events stands; indexes of what the event lies in. */
struct cursor {
    uint32_t region, region_last, phase_last;
    uint32_t micro, oom;
    uint32_t pass, pass_last;            /* a micro-batch + 1, and its last allocation */
    uint32_t step, occurrence, measured; /* of the totals: step, occurrence, micro-batch */
    uint32_t birth_step;
    uint64_t edge;     /* event at which the next of those begins or ends */
    uint64_t low_peak; /* lowest of their peaks so far */
};

struct block {
    const struct mt_event *e;
    uint32_t i, freed;
    struct mt_attr a;
    const struct mt_region *g;
    uint8_t seen;
    bool in_region; /* freed before the next region begins */
    bool in_phase;
    /* how long it would have lived is not known: memory ran out in the pass of its birth */
    bool censored;
    uint32_t pass_last; /* last allocation of its micro-batch; 0 = it is in none */
    uint32_t age;       /* from its birth to the failure, where censored, in events */
    bool failed;        /* let go of before a request of its region failed */
    bool cut; /* or in the micro-batch of its birth: that the block stays proves nothing */
};

static bool is_overlapped(const struct block *b) { return (b->seen & MT_SEEN_OVERLAP) != 0; }

/* Freed in the pass of its birth, before the next layers. */
static bool is_brief(const struct block *b)
{
    if (!b->in_region)
        return false;
    if (b->freed - b->i <= SHORT_LIFE)
        return true;
    /* freed within a few operations, alone, and before the pass ends: not with all that the pass
     * kept */
    return !is_overlapped(b) && b->freed - b->i <= OP_LIFE &&
           b->freed <= (mt_phase_keeps_for_none(b->a) ? b->pass_last : b->g->last_alloc);
}

static unsigned life_of(const struct mt_rwork *k, struct cursor *c, const struct block *b)
{
    const struct mt_role_facts *f = k->out;
    uint32_t birth, death;
    if (b->freed != MT_NEVER && b->in_region && !b->censored) {
        bool layered = b->g->group == MT_G_FORWARD || b->g->group == MT_G_BACKWARD;
        if (!layered || is_brief(b))
            return MT_LIFE_TEMP;
        if (!is_overlapped(b) && (b->seen & MT_SEEN_AGAIN))
            return MT_LIFE_LAYER;
    }
    if (b->freed != MT_NEVER && c->micro < f->micros.n && f->micros.p[c->micro].first <= b->i &&
        b->freed <= f->micros.p[c->micro].last)
        return MT_LIFE_MICRO;
    while (c->birth_step < f->steps.n && f->steps.p[c->birth_step].last < b->i)
        c->birth_step++;
    birth = c->birth_step;
    if (birth == f->steps.n || f->steps.p[birth].first > b->i)
        return MT_LIFE_UNKNOWN;
    if (b->freed == MT_NEVER)
        return birth + 2 < f->steps.n ? MT_LIFE_PERSISTENT : MT_LIFE_UNKNOWN;
    death = birth;
    if (b->freed > f->steps.p[birth].last) /* most often in the next */
        death = birth + 1 < f->steps.n && b->freed <= f->steps.p[birth + 1].last
                    ? birth + 1
                    : mt_step_at(f, b->freed);
    if (death == birth ||
        (death == birth + 1 && b->freed - f->steps.p[death].first <=
                                   b->i - f->steps.p[birth].first +
                                       (f->steps.p[birth].last - f->steps.p[birth].first) / 8))
        return MT_LIFE_STEP;
    return MT_LIFE_PERSISTENT;
}

static unsigned role_because(struct mt_fate *f, unsigned role, enum mt_role_why why)
{
    f->why = (uint8_t)(role == MT_ROLE_UNKNOWN ? MT_WHY_NONE : why);
    return role;
}

static bool is_logits(struct mt_rwork *k, const struct block *b)
{
    return mt_is_logits(k, b->e, b->a.sub, b->g->largest, is_overlapped(b));
}

/* Whether a block has the size of a parameter, whole or gathered, as a gradient has. A size that a
 * forward pass makes, too, is no evidence. */
static bool has_size_of_param(struct mt_rwork *k, uint64_t size)
{
    const struct mt_size_use *u = mt_size_use(k, size, false);
    return u != NULL && u->param && !u->activation;
}

/* Let go of while its pass went on: nothing waits for it in the backward. What goes after the last
 * request of its pass may have been kept by autograd. */
static bool went_in_pass(const struct block *b)
{
    return b->in_region && ((b->freed < b->g->last_alloc && b->freed < b->pass_last) || b->failed);
}

/* A block of a forward pass: kept for the backward, or a temporary. */
static unsigned in_forward(struct mt_rwork *k, const struct block *b, struct mt_fate *f)
{
    if (is_logits(k, b))
        return role_because(f, MT_ROLE_LOGITS, MT_WHY_SIZE);
    if (mt_attr_no_grad(b->a) || mt_phase_untold(b->a)) /* no backward pass may ask for it */
        return role_because(f,
                            b->censored || (b->freed != MT_NEVER && b->in_phase) ? MT_ROLE_TEMP
                                                                                 : MT_ROLE_UNKNOWN,
                            b->censored ? MT_WHY_PHASE : MT_WHY_LIFE);
    if (b->censored ? mt_fared_went(k, b->e, b->age, (uint32_t)(b->g - k->regions.p))
                    : is_brief(b) || went_in_pass(b) ||
                          (b->in_region && !is_overlapped(b) && (b->seen & MT_SEEN_AGAIN)))
        return role_because(f, MT_ROLE_TEMP, MT_WHY_LIFE);
    return role_because(f, MT_ROLE_ACTIVATION, b->censored ? MT_WHY_PHASE : MT_WHY_LIFE);
}

static bool outlives_backward(struct mt_rwork *k, const struct block *b)
{
    if (b->censored) {
        const struct mt_size_use *u = mt_size_use(k, b->e->size, false);
        uint32_t end = b->freed != MT_NEVER ? b->freed : mt_n_events(k);
        bool grads = u != NULL && (u->grads_peak != 0 || u->cut_peak != 0);
        return grads || (u != NULL && u->state) ? grads : end - b->i > KEPT;
    }
    return !b->in_region || (b->freed > b->g->last_alloc && b->freed - b->i > KEPT);
}

static unsigned in_backward(struct mt_rwork *k, const struct block *b, unsigned frame,
                            struct mt_fate *f)
{
    bool stays = outlives_backward(k, b);
    struct mt_size_use *u;
    if (frame == MT_ROLE_GRAD_REDUCE || b->a.sub == MT_PH_GRAD_REDUCE)
        return role_because(f,
                            stays || (b->censored && has_size_of_param(k, b->e->size))
                                ? MT_ROLE_GRAD
                                : MT_ROLE_GRAD_REDUCE,
                            frame < MT_ROLE_COUNT ? MT_WHY_FRAME : MT_WHY_PHASE);
    if (b->a.sub == MT_PH_RECOMPUTE)
        return role_because(f, MT_ROLE_RECOMPUTE, MT_WHY_PHASE);
    if (has_size_of_param(k, b->e->size) || mt_is_vocab_weight(k, b->e->size))
        return role_because(f, MT_ROLE_GRAD, MT_WHY_SIZE);
    /* the job's own code after the pass, as where it loads the next batch */
    if (b->a.sub == MT_PH_NONE && b->e->stack != 0)
        return role_because(f, b->in_region && !b->censored ? MT_ROLE_TEMP : MT_ROLE_UNKNOWN,
                            MT_WHY_LIFE);
    if (stays && !(b->censored && is_logits(k, b)))
        return role_because(f, MT_ROLE_GRAD, MT_WHY_LIFE);
    if (mt_is_logits_size(k, b->e->size) && b->e->size * 4 >= k->logits_max &&
        !mt_is_layer_size(k, b->e->size))
        return role_because(f, MT_ROLE_LOGITS, MT_WHY_SIZE);
    if ((u = mt_size_use(k, b->e->size, false)) != NULL)
        u->added++;
    return role_because(f, MT_ROLE_TEMP, MT_WHY_LIFE);
}

static unsigned in_optimizer(const struct block *b, struct mt_fate *f)
{
    bool by_sub = b->a.sub == MT_PH_OPTIM_STATE_INIT;
    if (b->a.sub == MT_PH_NONE) /* allocated after the optimizer, not in it */
        return role_because(f, b->in_region && !b->censored ? MT_ROLE_TEMP : MT_ROLE_UNKNOWN,
                            MT_WHY_LIFE);
    if (b->a.sub == MT_PH_GRAD_CLIP)
        return role_because(f, MT_ROLE_OPTIM_TEMP, MT_WHY_PHASE);
    if (b->censored)
        return role_because(f, by_sub ? MT_ROLE_OPTIM_STATE : MT_ROLE_OPTIM_TEMP, MT_WHY_PHASE);
    return role_because(f, b->in_region ? MT_ROLE_OPTIM_TEMP : MT_ROLE_OPTIM_STATE, MT_WHY_LIFE);
}

/* Whether the optimizer made a block: saving a state that is not there yet makes it take a step. */
static bool steps(const struct block *b)
{
    return b->a.sub == MT_PH_OPTIMIZER || b->a.sub == MT_PH_OPTIM_STATE_INIT;
}

/* The role by the coarse phase, for phases that are no passes over a model. false = the phase does
 * not decide. */
static bool by_coarse(struct mt_rwork *k, const struct block *b, struct mt_fate *f, unsigned *role)
{
    bool gone = b->freed != MT_NEVER && b->in_phase && !b->censored, brief;
    if (mt_attr_conf(b->a) == MT_CONF_CARRIED &&
        b->a.sub ==
            MT_PH_NONE) { /* the phase is the neighbouring events': no evidence of a purpose */
        *role = role_because(f, gone ? MT_ROLE_TEMP : MT_ROLE_UNKNOWN, MT_WHY_LIFE);
        return b->a.phase == MT_PH_INIT || mt_phase_is(b->a.phase, MT_OF_ENGINE) ||
               b->a.phase == MT_PH_WEIGHT_SYNC || b->a.phase == MT_PH_ONLOAD_OFFLOAD;
    }
    switch (b->a.phase) {
    case MT_PH_INIT:
        /* the whole model is freed as well, once each rank has its shard of it */
        brief =
            gone && (b->freed - b->i <= KEPT || (!is_overlapped(b) && (b->seen & MT_SEEN_AGAIN)));
        *role = role_because(f, brief ? MT_ROLE_TEMP : MT_ROLE_PARAM,
                             gone ? MT_WHY_LIFE : MT_WHY_PHASE);
        if (!gone && (b->a.sub == MT_PH_OPTIMIZER || b->a.sub == MT_PH_OPTIM_STATE_INIT))
            *role = MT_ROLE_OPTIM_STATE;
        return true;
    case MT_PH_ROLLOUT_INIT:
        /* where weights have a phase of their own: places for inputs, tables of the attention */
        *role = role_because(f,
                             gone       ? MT_ROLE_TEMP
                             : k->loads ? MT_ROLE_WORKSPACE
                                        : MT_ROLE_ENGINE_WEIGHTS,
                             MT_WHY_PHASE);
        return true;
    case MT_PH_ROLLOUT_LOAD:
        *role = role_because(f, gone ? MT_ROLE_TEMP : MT_ROLE_ENGINE_WEIGHTS, MT_WHY_PHASE);
        return true;
    case MT_PH_ROLLOUT_KV_ALLOC:
        *role = role_because(f, gone ? MT_ROLE_TEMP : MT_ROLE_KV_CACHE, MT_WHY_PHASE);
        return true;
    case MT_PH_ROLLOUT_GRAPH:
        *role = role_because(f, gone ? MT_ROLE_TEMP : MT_ROLE_GRAPH_POOL, MT_WHY_PHASE);
        return true;
    case MT_PH_WEIGHT_SYNC: *role = role_because(f, MT_ROLE_WEIGHT_SYNC, MT_WHY_PHASE); return true;
    case MT_PH_ONLOAD_OFFLOAD: *role = role_because(f, MT_ROLE_OFFLOAD, MT_WHY_PHASE); return true;
    case MT_PH_CKPT_SAVE: /* what a checkpoint gathers; before the first step also the states */
    case MT_PH_CKPT_LOAD: /* what is read is freed once it is copied; a block that stays is the
                             state itself */
        brief = gone && b->freed - b->i <= COPIED;
        *role = brief                            ? MT_ROLE_TEMP
                : b->a.sub == MT_PH_FSDP_UNSHARD ? MT_ROLE_UNSHARDED
                : !gone && steps(b)              ? MT_ROLE_OPTIM_STATE
                                                 : MT_ROLE_CHECKPOINT;
        *role = role_because(f, *role, brief ? MT_WHY_LIFE : MT_WHY_PHASE);
        return b->a.phase == MT_PH_CKPT_SAVE || b->freed != MT_NEVER;
    case MT_PH_ROLLOUT_PROFILE:
    case MT_PH_ROLLOUT_GENERATE:
    case MT_PH_ROLLOUT_PREFILL:
    case MT_PH_ROLLOUT_DECODE:
    case MT_PH_ROLLOUT_WAKE_SLEEP:
        if (b->g->group == MT_G_FORWARD && b->a.phase != MT_PH_ROLLOUT_PROFILE && is_logits(k, b))
            *role = role_because(f, MT_ROLE_LOGITS, MT_WHY_SIZE);
        else
            *role =
                role_because(f, gone || b->censored ? MT_ROLE_TEMP : MT_ROLE_UNKNOWN, MT_WHY_LIFE);
        return true;
    default: return false;
    }
}

/* A role by frames, where the lifetime does not contradict it. MT_ROLE_COUNT = frames say nothing.
 */
static unsigned by_frame(const struct mt_rwork *k, const struct block *b, unsigned frame)
{
    bool brief = !b->censored && b->in_region && b->freed != MT_NEVER;
    switch (frame) {
    case MT_ROLE_LOGITS: return b->e->size >= k->logits_max / 64 ? MT_ROLE_LOGITS : MT_ROLE_COUNT;
    /* of inputs too: roles/cast.c tells them apart */
    case MT_ROLE_PARAM_CAST: return MT_ROLE_COUNT;
    case MT_ROLE_OPTIM_STATE: return brief ? MT_ROLE_OPTIM_TEMP : MT_ROLE_OPTIM_STATE;
    case MT_ROLE_PARAM:
        if (brief && b->a.sub == MT_PH_ONLOAD_OFFLOAD &&
            b->freed - b->i > SHORT_LIFE) /* fetched for the layers that run */
            return MT_ROLE_PARAM;
        if (brief && b->a.phase == MT_PH_INIT) /* a whole model before it is sharded, or a buffer it
                                                  is loaded through */
            return b->freed - b->i > KEPT ? MT_ROLE_PARAM : MT_ROLE_TEMP;
        return brief                                   ? MT_ROLE_TEMP
               : mt_phase_is(b->a.phase, MT_OF_ENGINE) ? MT_ROLE_ENGINE_WEIGHTS
                                                       : MT_ROLE_PARAM;
    case MT_ROLE_CHECKPOINT: /* what stays became the model or its optimizer's state */
        return b->freed == MT_NEVER && !b->censored ? MT_ROLE_COUNT : MT_ROLE_CHECKPOINT;
    case MT_ROLE_DATA: /* an operation that makes masks: of a pass it is what the pass makes of it
                        */
        return b->a.sub != MT_PH_NONE || (b->censored ? b->age <= OP_LIFE : b->in_region)
                   ? MT_ROLE_COUNT
                   : MT_ROLE_DATA;
    case MT_ROLE_KV_CACHE:
    case MT_ROLE_ENGINE_WEIGHTS:
        return brief && b->freed - b->i <= SHORT_LIFE ? MT_ROLE_TEMP : frame;
    default: return frame;
    }
}

static bool is_workspace(const struct mt_rwork *k, const struct block *b)
{
    if (b->e->size == MT_CUBLAS_WORKSPACE)
        return !is_brief(b);
    /* The larger default may be a tensor too: only when it came once in a forward pass and stayed.
     */
    return b->e->size == MT_CUBLAS_WORKSPACE_HOPPER && k->n_hopper <= MAX_HOPPER &&
           b->freed == MT_NEVER && !b->censored && !b->cut && !is_overlapped(b) &&
           (b->g->group == MT_G_FORWARD || b->a.phase == MT_PH_ROLLOUT_PROFILE);
}

/* Nothing but how long it lived. */
static unsigned by_life(const struct block *b, struct mt_fate *f)
{
    bool passes =
        b->freed != MT_NEVER && f->life != MT_LIFE_PERSISTENT && f->life != MT_LIFE_UNKNOWN;
    return role_because(f, passes ? MT_ROLE_TEMP : MT_ROLE_UNKNOWN, MT_WHY_LIFE);
}

static unsigned role_of(struct mt_rwork *k, const struct block *b, struct mt_fate *f)
{
    uint16_t stack = k->w->stack_role[b->e->stack];
    unsigned frame = stack != MT_NO_STACK_ROLE ? stack & 0xffu : MT_ROLE_COUNT, role, pool;
    if (k->r->t->meta.is_timeline) /* the profiler's own category, whatever the lifetime */
        return role_because(f, frame < MT_ROLE_COUNT ? frame : MT_ROLE_UNKNOWN, MT_WHY_FRAME);
    if (!mt_is_of_tensors(k->r->t)) {
        if (frame < MT_ROLE_COUNT)
            return role_because(f, frame, MT_WHY_FRAME);
        return by_life(b, f);
    }
    if (k->pools.n != 0 && (pool = mt_pool_role_of(k, b->e, b->i)) < MT_ROLE_UNKNOWN) {
        if (frame == MT_ROLE_KV_CACHE || frame == MT_ROLE_ENGINE_WEIGHTS ||
            frame == MT_ROLE_WORKSPACE)
            return role_because(f, frame, MT_WHY_FRAME);
        if (!mt_is_told_by_phase(b->a, pool))
            return role_because(f, pool, MT_WHY_POOL);
    }
    if (frame == MT_ROLE_GRAD && b->a.phase == MT_PH_CKPT_SAVE && steps(b))
        frame = MT_ROLE_COUNT; /* of the function that calls the optimizer */
    if (frame < MT_ROLE_COUNT && !(frame == MT_ROLE_GRAD_REDUCE && b->g->group == MT_G_BACKWARD &&
                                   !(stack & MT_STACK_ALWAYS))) {
        role = by_frame(k, b, frame);
        if (role < MT_ROLE_COUNT)
            return role_because(f, role, MT_WHY_FRAME);
    }
    if (is_workspace(k, b))
        return role_because(f, MT_ROLE_WORKSPACE, MT_WHY_SIZE);
    if (b->freed != MT_NEVER && (role = mt_role_of_free(k, b->freed)) < MT_ROLE_COUNT)
        return role_because(f, role, MT_WHY_FRAME);
    if ((b->freed == MT_NEVER || b->censored) && mt_is_cast(k, b->e->stack, b->e->size))
        return role_because(f, MT_ROLE_PARAM_CAST, MT_WHY_LIFE);
    /* autocast keeps the copy until its context is left, whatever is trained or generated */
    if ((b->seen & MT_SEEN_CAST) && b->g->group == MT_G_FORWARD && !is_brief(b))
        return role_because(f, MT_ROLE_PARAM_CAST, MT_WHY_FRAME);
    if (k->w->grown[b->e->stack] && b->g->group == MT_G_FORWARD && !is_brief(b) &&
        !mt_phase_is(b->a.phase, MT_TRAINS))
        return role_because(f, mt_grown_role(k->w->grown[b->e->stack]), MT_WHY_LIFE);
    if (by_coarse(k, b, f, &role))
        return role;
    if (b->seen & MT_SEEN_BUILT)
        return role_because(f, MT_ROLE_PARAM, MT_WHY_FRAME);
    switch (b->a.sub) {
    case MT_PH_FSDP_UNSHARD: return role_because(f, MT_ROLE_UNSHARDED, MT_WHY_PHASE);
    case MT_PH_COMM: return role_because(f, MT_ROLE_COMM, MT_WHY_PHASE);
    case MT_PH_ONLOAD_OFFLOAD: return role_because(f, MT_ROLE_OFFLOAD, MT_WHY_PHASE);
    case MT_PH_COMPILE_AUTOTUNE: /* what kernels are tried out on, whatever becomes of it */
        return role_because(f, MT_ROLE_TEMP, MT_WHY_PHASE);
    case MT_PH_COMPILE:
        if (b->in_region)
            return role_because(f, MT_ROLE_TEMP, MT_WHY_PHASE);
        break;
    default: break;
    }
    switch ((enum mt_group)b->g->group) {
    case MT_G_FORWARD: return in_forward(k, b, f);
    case MT_G_BACKWARD: return in_backward(k, b, frame, f);
    case MT_G_OPTIMIZER: return in_optimizer(b, f);
    case MT_G_OTHER: break;
    }
    return by_life(b, f);
}

static void enter(const struct mt_rwork *k, struct cursor *c, uint32_t i)
{
    while (c->region + 1 < k->regions.n && k->regions.p[c->region + 1].first <= i)
        c->region++;
    c->region_last = mt_region_last(k, c->region);
    if (c->phase_last < i || i == 0) {
        uint32_t g = c->region;
        while (g + 1 < k->regions.n && k->regions.p[g + 1].phase == k->regions.p[c->region].phase)
            g++;
        c->phase_last = mt_region_last(k, g);
    }
    while (c->micro < k->out->micros.n && k->out->micros.p[c->micro].last < i)
        c->micro++;
}

/* A gradient that goes with its backward pass was added to another one: only those that outlive it
 * are as many as there are parameters. */
static void count_grad(struct mt_rwork *k, const struct block *b, struct mt_size_use *u)
{
    uint32_t *n = b->censored ? &u->cut : &u->grads,
             *peak = b->censored ? &u->cut_peak : &u->grads_peak;
    if (b->g->group == MT_G_BACKWARD && !outlives_backward(k, b)) {
        u->added++;
        return;
    }
    k->counted[b->i / 8] |= (uint8_t)(1u << b->i % 8);
    if (++*n > *peak)
        *peak = *n;
}

/* What later blocks of that size are compared with. */
static int note_size(struct mt_rwork *k, const struct block *b, unsigned role)
{
    struct mt_size_use *u;
    uint64_t size = b->e->size;
    if (role == MT_ROLE_ACTIVATION || role == MT_ROLE_RECOMPUTE) {
        if ((u = mt_size_use(k, size, false)) != NULL)
            u->activation = true;
        return 1;
    }
    if (role == MT_ROLE_PARAM_CAST) { /* of a weight of twice its size */
        if ((u = mt_size_use(k, size * 2, true)) == NULL)
            return 0;
        if (++u->casts > u->casts_peak)
            u->casts_peak = u->casts;
        return 1;
    }
    if (role != MT_ROLE_GRAD && role != MT_ROLE_OPTIM_STATE && role != MT_ROLE_PARAM &&
        role != MT_ROLE_UNSHARDED)
        return 1;
    if ((u = mt_size_use(k, size, true)) == NULL)
        return 0;
    if (role == MT_ROLE_OPTIM_STATE)
        u->state = true;
    else if (role == MT_ROLE_PARAM || role == MT_ROLE_UNSHARDED)
        u->param = true;
    else
        count_grad(k, b, u);
    u->made += role == MT_ROLE_PARAM && b->freed == MT_NEVER;
    return 1;
}

/* The last allocation of a forward pass up to `last`: between it and the next pass, whose input the
 * job makes first, what autograd kept goes. */
static uint32_t last_of_model(const struct mt_rwork *k, uint64_t last, uint32_t first)
{
    while (last > first && (mt_event_at(k->r->d, last)->action != MT_ACT_ALLOC ||
                            mt_group_of(k->r->attr[last].sub, MT_G_OTHER) != MT_G_FORWARD))
        last--;
    return (uint32_t)last;
}

/* The last allocation of the micro-batch that the event lies in; 0 = it is in none. */
static uint32_t last_of_pass(const struct mt_rwork *k, struct cursor *c, uint32_t i)
{
    const struct mt_role_facts *f = k->out;
    if (c->micro >= f->micros.n || f->micros.p[c->micro].first > i)
        return 0;
    if (c->pass == c->micro + 1)
        return c->pass_last;
    c->pass = c->micro + 1;
    c->pass_last = mt_phase_keeps_for_none(k->r->attr[i])
                       ? last_of_model(k, f->micros.p[c->micro].last, i)
                       : mt_last_alloc(k, f->micros.p[c->micro].last, i);
    return c->pass_last;
}

static int decide(struct mt_rwork *k, struct cursor *c, const struct mt_event *e, uint32_t i)
{
    struct mt_fate *f = &k->w->fate[i];
    struct block b = {.e = e, .i = i, .freed = f->freed, .a = k->r->attr[i], .seen = f->life};
    const struct mt_device_analysis *o = k->r->out;
    unsigned named;
    if (i > c->region_last || c->region_last == 0)
        enter(k, c, i);
    while (c->micro < k->out->micros.n && k->out->micros.p[c->micro].last < i)
        c->micro++;
    while (c->oom < o->ooms.n && MT_OOM_BY_EVENT(o, c->oom)->event < i)
        c->oom++;
    b.g = &k->regions.p[c->region];
    b.in_region = b.freed <= c->region_last;
    b.in_phase = b.freed <= c->phase_last;
    /* Who dumps a snapshot between steps has no temporaries left; an exception unwinds what it
     * finds, or the dump is made inside it. */
    b.censored = c->oom < o->ooms.n && MT_OOM_BY_EVENT(o, c->oom)->event < b.freed &&
                 (b.in_region ||
                  (b.freed == MT_NEVER && MT_OOM_BY_EVENT(o, c->oom)->event <= c->region_last));
    b.age = b.censored ? (uint32_t)(MT_OOM_BY_EVENT(o, c->oom)->event - i) : 0;
    /* passes that no backward follows are one region: what an earlier one kept went behind it */
    b.failed = c->oom < o->ooms.n && b.freed < MT_OOM_BY_EVENT(o, c->oom)->event &&
               MT_OOM_BY_EVENT(o, c->oom)->event <= c->region_last && !mt_phase_keeps_for_none(b.a);
    b.cut = c->oom < o->ooms.n && c->micro < k->out->micros.n &&
            k->out->micros.p[c->micro].first <= i &&
            MT_OOM_BY_EVENT(o, c->oom)->event <= k->out->micros.p[c->micro].last;
    b.pass_last = last_of_pass(k, c, i);
    f->life = (uint8_t)life_of(k, c, &b);
    f->conf = (uint8_t)mt_attr_conf(b.a);
    f->role = (uint8_t)role_of(k, &b, f);
    if (b.g->group == MT_G_FORWARD && o->ooms.n != 0 &&
        (f->role == MT_ROLE_TEMP || f->role == MT_ROLE_ACTIVATION) &&
        !mt_fared_note(k, e, f->role == MT_ROLE_TEMP, b.censored ? 0 : b.freed - i, c->region))
        return 0;
    if (k->r->names.of_event.n != 0 && (named = mt_role_by_name(k, i, e->addr)) != MT_ROLE_COUNT)
        f->role = (uint8_t)role_because(f, named, MT_WHY_NAME);
    return note_size(k, &b, f->role);
}

static void gone(struct mt_rwork *k, uint32_t i)
{
    struct mt_fate *f = &k->w->fate[i];
    uint32_t birth = f->freed;
    if (birth >= i) /* before the trace */
        return;
    f->role = k->w->fate[birth].role; /* so that whoever adds up need not look there again */
    if (f->role == MT_ROLE_GRAD && (k->counted[birth / 8] >> birth % 8 & 1)) {
        struct mt_size_use *u = mt_size_use(k, mt_event_at(k->r->d, birth)->size, false);
        if (u != NULL && u->grads != 0)
            u->grads--;
        else if (u != NULL && u->cut != 0)
            u->cut--;
    } else if (f->role == MT_ROLE_PARAM_CAST) {
        struct mt_size_use *u = mt_size_use(k, mt_event_at(k->r->d, birth)->size * 2, false);
        if (u != NULL && u->casts != 0)
            u->casts--;
    }
}

/* Live bytes at the beginning, at the highest instant and at the end of what lasts from `first` to
 * `last`. */
#define MEASURE(list, at, i, before, after)                                                        \
    do {                                                                                           \
        while ((at) < (list).n && (list).p[at].last < (i))                                         \
            (at)++;                                                                                \
        if ((at) < (list).n && (list).p[at].first <= (i)) {                                        \
            if ((list).p[at].first == (i)) {                                                       \
                (list).p[at].live_begin = (list).p[at].peak = (before);                            \
                (list).p[at].peak_event = (int64_t)(i)-1;                                          \
            }                                                                                      \
            if ((after) > (list).p[at].peak) {                                                     \
                (list).p[at].peak = (after);                                                       \
                (list).p[at].peak_event = (int64_t)(i);                                            \
            }                                                                                      \
            if ((list).p[at].last == (i))                                                          \
                (list).p[at].live_end = (after);                                                   \
            if ((list).p[at].peak < c->low_peak)                                                   \
                c->low_peak = (list).p[at].peak;                                                   \
            if ((list).p[at].last > (i) && (list).p[at].last < c->edge)                            \
                c->edge = (list).p[at].last;                                                       \
            else if ((list).p[at].last == (i))                                                     \
                c->edge = (i) + 1;                                                                 \
        } else if ((at) < (list).n && (list).p[at].first < c->edge) {                              \
            c->edge = (list).p[at].first;                                                          \
        }                                                                                          \
    } while (0)

/* Where something begins or ends, or live bytes rise above what one of the three has seen. */
static void note_peaks(struct mt_rwork *k, struct cursor *c, uint64_t i, uint64_t before,
                       uint64_t after)
{
    struct mt_role_facts *f = k->out;
    c->edge = UINT64_MAX;
    c->low_peak = UINT64_MAX;
    MEASURE(f->steps, c->step, i, before, after);
    MEASURE(f->micros, c->measured, i, before, after);
    MEASURE(f->occurrences, c->occurrence, i, before, after);
}

int mt_fates_decide(struct mt_rwork *k)
{
    struct cursor c = {.edge = 0};
    uint64_t total = (uint64_t)k->r->start_live;
    const struct mt_trace *t = k->r->t;
    if ((k->counted = mt_calloc(mt_n_events(k) / 8 + 1u, 1)) == NULL)
        return 0;
    for (uint32_t i = 0; i < k->sizes.n; i++)
        k->sizes.p[i].casts = k->sizes.p[i].casts_peak = 0;
    for (uint32_t i = 0; i < k->r->old.n; i++) { /* what the passes make of these sizes is noted */
        struct mt_size_use *u =
            k->r->old.p[i].gone_at == UINT64_MAX ? mt_size_use(k, k->r->old.p[i].size, true) : NULL;
        if (k->r->old.p[i].gone_at == UINT64_MAX && u == NULL)
            return 0;
        if (u != NULL)
            u->kept++;
    }
    for (uint32_t i = 0; i < t->blocks.n; i++)
        k->n_hopper += t->blocks.p[i].state != MT_BLOCK_INACTIVE &&
                       t->blocks.p[i].requested == MT_CUBLAS_WORKSPACE_HOPPER &&
                       mt_segment_is_on(&t->segments.p[t->blocks.p[i].segment], k->r->d->ordinal,
                                        k->r->d->kind);
    for (uint32_t i = 0; i < k->regions.n && !k->loads; i++)
        k->loads = k->regions.p[i].phase == MT_PH_ROLLOUT_LOAD;
    for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        uint64_t before = total;
        if (e->action == MT_ACT_ALLOC) {
            if (!decide(k, &c, e, i))
                return 0;
            total += e->size;
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            gone(k, i);
            total -= e->size;
        }
        if (i >= c.edge || total > c.low_peak)
            note_peaks(k, &c, i, before, total);
    }
    return 1;
}
