/* From frames to a verdict per stack, without neighbours.
 *
 * Stacks are a tree that grows inward, so the markers of a stack are those of its caller plus one frame: one pass over the nodes in
 * order, each in constant time, whatever the depth. Equal sets of markers are one state; a state has one verdict. What was recorded
 * of C++ and Python frames may be interleaved or appended (it depends on the Python version), so only the order among Python frames
 * counts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "analysis/phase_impl.h"

#include <string.h>

/* ---- interning of small structs ---- */

struct pool {
    size_t size;
    void *item;
    uint32_t n, cap;
    uint32_t *slot; /* index + 1 */
    uint32_t n_slots;
};

static void *pool_at(const struct pool *p, uint32_t i) { return (unsigned char *)p->item + (size_t)i * p->size; }

static uint32_t hash_bytes(const unsigned char *p, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 16777619u;
    return h ^ (h >> 15);
}

static int pool_grow(struct pool *p)
{
    uint32_t n = p->n_slots != 0 ? p->n_slots * 2 : 256;
    uint32_t *slot = mt_calloc(n, sizeof *slot);
    if (slot == NULL)
        return 0;
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = hash_bytes(pool_at(p, k), p->size) & (n - 1);
        while (slot[i] != 0)
            i = (i + 1) & (n - 1);
        slot[i] = k + 1;
    }
    mt_free(p->slot);
    p->slot = slot;
    p->n_slots = n;
    return 1;
}

static int pool_add(struct pool *p, const void *item, uint32_t *index)
{
    uint32_t i;
    if (p->n * 2 >= p->n_slots && !pool_grow(p))
        return 0;
    i = hash_bytes(item, p->size) & (p->n_slots - 1);
    for (; p->slot[i] != 0; i = (i + 1) & (p->n_slots - 1)) {
        if (memcmp(pool_at(p, p->slot[i] - 1), item, p->size) == 0) {
            *index = p->slot[i] - 1;
            return 1;
        }
    }
    if (mt_vec_push(&p->item, &p->n, &p->cap, p->size) == NULL)
        return 0;
    *index = p->n - 1;
    memcpy(pool_at(p, *index), item, p->size);
    p->slot[i] = p->n;
    return 1;
}

static void pool_done(struct pool *p)
{
    mt_free(p->item);
    mt_free(p->slot);
}

/* ---- frames ---- */

/* What one frame marks: a rule per level, 0 = none. */
struct mark {
    uint16_t c, s, m, role, w, o;
    uint16_t flags;
};
enum {
    MK_PYTHON = 1,
    MK_ENGINE = 2,        /* C++ frame of the autograd engine */
    MK_NAME_FORWARD = 4,  /* by its name only, outside PyTorch */
    MK_NAME_BACKWARD = 8,
    MK_MAKE_GRADS = 16,
    MK_LOSS_CALL = 32     /* compute_loss: what it calls belongs to the training step */
};

static bool has(const char *s, uint32_t n, const char *word) { return memmem(s, n, word, strlen(word)) != NULL; }

/* Ends s in the suffix, as whole path components? '\\' counts as '/': snapshots of Windows exist. */
static bool path_ends(const char *s, uint32_t n, const char *suffix, uint32_t len)
{
    if (n < len || (n > len && s[n - len - 1] != '/' && s[n - len - 1] != '\\'))
        return false;
    for (uint32_t i = 0; i < len; i++)
        if (s[n - len + i] != suffix[i] && !(suffix[i] == '/' && s[n - len + i] == '\\'))
            return false;
    return true;
}

static bool is_python(const char *s, uint32_t n)
{
    return (n >= 3 && memcmp(s + n - 3, ".py", 3) == 0) || (n != 0 && s[0] == '<') || has(s, n, "/ipykernel_") ||
           has(s, n, "\\ipykernel_");
}

static bool is_torch(const char *s, uint32_t n)
{
    return has(s, n, "/torch/") || has(s, n, "\\torch\\") || (n >= 6 && (memcmp(s, "torch/", 6) == 0 || memcmp(s, "torch\\", 6) == 0));
}

/* SomethingBackward0::apply, SomethingBackward1_copy::apply */
static bool is_backward_node(const char *s, uint32_t n)
{
    const char *end = s + n, *p = s;
    while ((p = memmem(p, (size_t)(end - p), "Backward", 8)) != NULL) {
        const char *q = p += 8;
        while (q < end && *q >= '0' && *q <= '9')
            q++;
        if (end - q >= 5 && memcmp(q, "_copy", 5) == 0)
            q += 5;
        if (end - q >= 7 && memcmp(q, "::apply", 7) == 0)
            return true;
    }
    return false;
}

/* The root of every stack of an autograd thread. torch::autograd:: alone is in every forward stack (VariableType). */
static bool is_engine(const char *s, uint32_t n)
{
    if (has(s, n, "torch::autograd::") &&
        (has(s, n, "torch::autograd::Engine::") || has(s, n, "torch::autograd::python::PythonEngine::") ||
         has(s, n, "torch::autograd::Node::operator()")))
        return true;
    return has(s, n, "::apply") && (has(s, n, "AccumulateGrad::apply") || is_backward_node(s, n));
}

static unsigned name_flags(const char *s, uint32_t n)
{
    static const char *const anywhere[] = { "loss", "cross_entropy", "softmax", "logits" };
    static const char *const words[] = { "forward", "attention", "mlp", "embedding" };
    if (n == 8 && memcmp(s, "backward", 8) == 0)
        return MK_NAME_BACKWARD;
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
        if (has(s, n, anywhere[i]))
            return MK_NAME_FORWARD;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *p = s;
        while ((p = memmem(p, (size_t)(s + n - p), words[i], strlen(words[i]))) != NULL) {
            if (p == s || p[-1] == '_')
                return MK_NAME_FORWARD;
            p++;
        }
    }
    return 0;
}

/* Rules by the string id of their function name, so that a frame costs one look-up and hashes nothing. */
struct names {
    struct {
        mt_str_id name;
        uint16_t head; /* rule, 0 = empty */
    } *slot;
    uint32_t mask;
    uint16_t *next; /* by rule */
};

static uint32_t name_slot(const struct names *t, mt_str_id name)
{
    uint32_t i = (name * 2654435761u >> 7) & t->mask;
    while (t->slot[i].head != 0 && t->slot[i].name != name)
        i = (i + 1) & t->mask;
    return i;
}

static int names_build(struct names *t, const struct mt_phaser *p)
{
    uint32_t n = 64;
    while (n < p->rules->rule.n * 2)
        n *= 2;
    t->mask = n - 1;
    t->slot = mt_calloc(n, sizeof *t->slot);
    t->next = mt_calloc(p->rules->rule.n, sizeof *t->next);
    if (t->slot == NULL || t->next == NULL)
        return 0;
    for (uint32_t i = MT_METHOD_COUNT; i < p->rules->rule.n; i++) {
        const struct mt_phase_rule *r = &p->rules->rule.p[i];
        mt_str_id name;
        uint32_t at;
        if (r->level == 'A' || r->level == 'K')
            continue;
        name = mt_strpool_find(&p->t->str, r->function, strlen(r->function));
        if (name == MT_STR_FAIL)
            continue; /* no frame of this trace has that name */
        at = name_slot(t, name);
        t->next[i] = t->slot[at].head;
        t->slot[at].name = name;
        t->slot[at].head = (uint16_t)i;
    }
    return 1;
}

/* The longer file suffix wins, then an overlay, then the earlier rule. */
static bool better(const struct mt_phase_rules *r, uint32_t a, uint32_t b)
{
    const struct mt_rule_code *ca = &r->code.p[a], *cb = &r->code.p[b];
    if (b == 0 || ca->file_len != cb->file_len)
        return b == 0 || ca->file_len > cb->file_len;
    if ((ca->flags & MT_RF_OVERLAY) != (cb->flags & MT_RF_OVERLAY))
        return (ca->flags & MT_RF_OVERLAY) != 0;
    return a < b;
}

static uint16_t *slot_of(struct mark *m, char level, enum mt_phase phase)
{
    switch (level) {
    case 'C': return &m->c;
    case 'S': return &m->s;
    case 'M': return phase != MT_PH_NONE ? &m->m : &m->role;
    case 'W': return &m->w;
    default: return &m->o;
    }
}

static void mark_frame(const struct mt_phaser *p, const struct names *t, const struct mt_frame *f, struct mark *m)
{
    const char *name = mt_str(p->t, f->name), *file = mt_str(p->t, f->file);
    uint32_t n = mt_str_len(p->t, f->name), file_n = mt_str_len(p->t, f->file);
    memset(m, 0, sizeof *m);
    if (!is_python(file, file_n)) {
        m->flags = is_engine(name, n) ? MK_ENGINE : 0;
        return;
    }
    m->flags = MK_PYTHON;
    for (uint32_t i = t->slot[name_slot(t, f->name)].head; i != 0; i = t->next[i]) {
        const struct mt_phase_rule *r = &p->rules->rule.p[i];
        uint16_t *at = slot_of(m, r->level, mt_rule_phase(p->rules, i));
        if (path_ends(file, file_n, r->file_suffix, p->rules->code.p[i].file_len) && better(p->rules, i, *at))
            *at = (uint16_t)i;
    }
    if (!is_torch(file, file_n))
        m->flags |= (uint16_t)name_flags(name, n);
    if (strcmp(name, "_make_grads") == 0 && path_ends(file, file_n, "torch/autograd/__init__.py", 26))
        m->flags |= MK_MAKE_GRADS;
    if (strcmp(name, "compute_loss") == 0 || strcmp(name, "_compute_loss") == 0)
        m->flags |= MK_LOSS_CALL;
}

/* ---- stacks ---- */

/* What all frames of a stack mark together. Fields of equal size: no padding, compared as bytes. */
struct state {
    uint16_t c;              /* the coarse marker that decides */
    uint16_t s, m, role, w;  /* innermost of each; m, role and w only further in than s */
    uint16_t o;              /* outermost Python frame, when it is only called by the autograd engine */
    uint16_t recompute, reduce;
    uint16_t rollout;        /* rollout marker inside an evaluation */
    uint16_t flags;          /* MK_* of any frame, names of the innermost that has one, and the one below */
};
enum { ST_SETTLED = 1 << 8 /* c is one of those that win below anything */ };

static bool wins_below_anything(enum mt_phase p)
{
    return p == MT_PH_WEIGHT_SYNC || p == MT_PH_ROLLOUT_WAKE_SLEEP || p == MT_PH_CKPT_SAVE || p == MT_PH_CKPT_LOAD;
}

static bool is_rollout(enum mt_phase p) { return p >= MT_PH_ROLLOUT_INIT && p <= MT_PH_ROLLOUT_WAKE_SLEEP; }

/* The outermost coarse marker decides, but for these: the inner one wins. Called from the outermost frame inward. */
static void step_coarse(const struct mt_phase_rules *r, struct state *st, const struct mark *m)
{
    uint16_t rule = m->c;
    enum mt_phase now, inner;
    unsigned both;
    if (rule == 0 && m->s != 0 && wins_below_anything(mt_rule_phase(r, m->s)))
        rule = m->s;
    if (rule == 0)
        return;
    inner = mt_rule_phase(r, rule);
    if ((r->code.p[rule].flags & MT_RF_TRL_LOGP) && (st->flags & MK_LOSS_CALL))
        return; /* the policy's log-probs inside the loss: the training step itself */
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
    both = (unsigned)r->code.p[st->c].flags & r->code.p[rule].flags;
    if ((st->flags & ST_SETTLED) || inner == MT_PH_ONLOAD_OFFLOAD || inner == now)
        return; /* onload and offload never replace a phase that they happen in */
    if (now == MT_PH_INIT || now == MT_PH_ROLLOUT_INIT || now == MT_PH_ONLOAD_OFFLOAD)
        st->c = rule; /* set-up calls what is more telling: load, profile, KV allocation */
    else if (now == MT_PH_TRAIN_ACTOR && (both & MT_RF_SLIME) &&
             (inner == MT_PH_LOGP || inner == MT_PH_LOGP_OLD || inner == MT_PH_LOGP_REF))
        st->c = rule; /* old and reference log-probs are computed inside train_actor */
    else if (mt_phase_is_training(now) && (r->code.p[rule].flags & MT_RF_TRL) && !mt_phase_is_training(inner))
        st->c = rule; /* generation, rewards and log-probs are called from training_step */
    else if (now == MT_PH_EVAL && is_rollout(inner) && st->rollout == 0)
        st->rollout = rule; /* generation for validation: an evaluation whose inside is a rollout */
}

static void step_inner(const struct mt_phase_rules *r, struct state *st, const struct mark *m)
{
    if (m->s != 0) {
        enum mt_phase p = mt_rule_phase(r, m->s);
        st->s = m->s;
        st->m = st->role = st->w = 0;
        if (p == MT_PH_BACKWARD)
            st->recompute = 0; /* re-entrant checkpointing: recompute is over, its own backward began */
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
    if (m->w != 0)
        st->w = m->w;
}

/* One frame further in. */
static void step(const struct mt_phase_rules *r, struct state *st, const struct mark *m)
{
    if (!(m->flags & MK_PYTHON)) {
        st->flags |= m->flags;
        return;
    }
    if (m->o != 0 && !(st->flags & MK_PYTHON))
        st->o = m->o;
    step_coarse(r, st, m);
    step_inner(r, st, m);
    if (m->flags & (MK_NAME_FORWARD | MK_NAME_BACKWARD))
        st->flags &= (uint16_t)~(MK_NAME_FORWARD | MK_NAME_BACKWARD);
    st->flags |= m->flags;
}

/* ---- verdicts ---- */

bool mt_sub_implies_training(enum mt_phase sub)
{
    return sub == MT_PH_BACKWARD || sub == MT_PH_RECOMPUTE || sub == MT_PH_OPTIMIZER || sub == MT_PH_OPTIM_STATE_INIT ||
           sub == MT_PH_GRAD_REDUCE || sub == MT_PH_GRAD_CLIP || sub == MT_PH_ZERO_GRAD;
}

static void set_sub(struct mt_stack_verdict *v, const struct mt_phase_rules *r, enum mt_phase sub, uint32_t rule)
{
    v->sub = (uint8_t)sub;
    v->rule = (uint16_t)rule;
    v->sub_conf = (uint8_t)mt_rule_conf(r, rule);
}

/* The innermost sub-phase marker, and what stands in for one. */
static void judge_marker(const struct mt_phase_rules *r, const struct state *st, struct mt_stack_verdict *v)
{
    enum mt_phase s = st->s != 0 ? mt_rule_phase(r, st->s) : MT_PH_NONE;
    if (s != MT_PH_NONE && mt_phase_is_coarse(s)) {
        if (st->w != 0)
            set_sub(v, r, MT_PH_FORWARD, st->w);
        else if (s == MT_PH_ONLOAD_OFFLOAD && v->own != MT_PH_NONE && v->own != s)
            set_sub(v, r, s, st->s);
        if (v->own == MT_PH_NONE) {
            v->local = (uint8_t)s;
            v->local_conf = (uint8_t)mt_rule_conf(r, st->s);
        }
        if (v->rule == 0)
            v->rule = st->s;
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

/* A marker that says more than the sub-phase becomes it; a role without a phase of its own only names the rule. */
static void judge_role(const struct mt_phase_rules *r, const struct state *st, struct mt_stack_verdict *v)
{
    enum mt_phase m = st->m != 0 ? mt_rule_phase(r, st->m) : MT_PH_NONE, sub = (enum mt_phase)v->sub;
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
    if (tells) {
        set_sub(v, r, m, st->m);
        v->flags &= (uint8_t)~(MT_VF_WEAK | MT_VF_BY_NAME);
    }
    if (st->role != 0)
        v->rule = st->role;
}

static void judge(const struct mt_phase_rules *r, const struct state *st, struct mt_stack_verdict *v)
{
    memset(v, 0, sizeof *v);
    v->own = v->local = v->sub = MT_PH_NONE;
    v->flags = (uint8_t)((st->flags & MK_PYTHON ? MT_VF_PYTHON : 0) | (st->flags & MK_MAKE_GRADS ? MT_VF_MAKE_GRADS : 0));
    if (st->c != 0) {
        v->own = (uint8_t)mt_rule_phase(r, st->c);
        v->own_conf = (uint8_t)mt_rule_conf(r, st->c);
        v->own_rule = st->c;
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
        if (st->reduce != 0 && (v->sub == MT_PH_BACKWARD || v->sub == MT_PH_NONE))
            set_sub(v, r, MT_PH_GRAD_REDUCE, st->reduce);
    }
    judge_role(r, st, v);
    if (st->rollout != 0 && !mt_sub_implies_training((enum mt_phase)v->sub) && v->own == MT_PH_EVAL)
        set_sub(v, r, mt_rule_phase(r, st->rollout), st->rollout);
    if (v->rule == 0)
        v->rule = v->own_rule;
    if (v->rule == 0)
        v->rule = MT_METHOD_NO_SIGNATURE;
}

/* ---- one pass over all stacks ---- */

struct step_memo {
    uint32_t state, mark, next; /* mark + 1; 0 = empty */
};
#define N_MEMO 4096u

static int mark_frames(const struct mt_phaser *p, struct pool *marks, uint16_t *of_frame)
{
    struct names names = { NULL, 0, NULL };
    int ok = names_build(&names, p);
    for (uint32_t i = 0; ok && i < p->t->frames.n; i++) {
        struct mark m;
        uint32_t index;
        mark_frame(p, &names, &p->t->frames.p[i], &m);
        ok = pool_add(marks, &m, &index) && index <= UINT16_MAX;
        if (ok)
            of_frame[i] = (uint16_t)index;
    }
    mt_free(names.slot);
    mt_free(names.next);
    return ok;
}

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

static int step_nodes(struct mt_phaser *p, struct pool *states, const struct pool *marks, const uint16_t *of_frame,
                      struct step_memo *memo)
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
            memcpy(&st, pool_at(states, from), sizeof st);
            step(p->rules, &st, pool_at(marks, mark));
            if (!pool_add(states, &st, &next))
                return 0;
            *m = (struct step_memo){ from, mark + 1, next };
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
    struct pool marks = { .size = sizeof(struct mark) }, states = { .size = sizeof(struct state) };
    struct state none;
    uint16_t *of_frame = mt_calloc((size_t)p->t->frames.n + 1, sizeof *of_frame);
    struct step_memo *memo = mt_calloc(N_MEMO, sizeof *memo);
    uint32_t zero;
    enum mt_rc rc = MT_ENOMEM;
    memset(&none, 0, sizeof none);
    p->node16 = mt_calloc((size_t)p->t->stacks.n + 1, sizeof *p->node16);
    if (of_frame == NULL || memo == NULL || p->node16 == NULL || !pool_add(&states, &none, &zero) ||
        !mark_frames(p, &marks, of_frame) || !step_nodes(p, &states, &marks, of_frame, memo))
        goto out;
    for (uint32_t i = 0; i < states.n; i++) {
        struct mt_stack_verdict *v = MT_VEC_PUSH(&p->verdict);
        struct state st;
        if (v == NULL)
            goto out;
        memcpy(&st, pool_at(&states, i), sizeof st);
        judge(p->rules, &st, v);
    }
    rc = MT_OK;
out:
    pool_done(&marks);
    pool_done(&states);
    mt_free(of_frame);
    mt_free(memo);
    return rc < 0 ? mt_fail(err, rc, "out of memory while attributing stacks to phases") : rc;
}
