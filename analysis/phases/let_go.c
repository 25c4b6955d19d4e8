/* A pass without gradients after training. No frame shows a `with torch.no_grad()` block, and the
 * phase before it would be carried on. What the blocks do shows it: lines of the model that kept
 * their blocks until the backward pass, each time they were trained, now let go of them as they go
 * on. It is asked of the end of the trace alone, after the last backward pass, where the call is
 * one that no backward pass has followed. */
#include "analysis/phases/impl.h"
#include "analysis/base/addrmap.h"
#include "analysis/base/frames.h"
#include "parser/base/mem.h"

/* Fewer blocks than that are chance. With a graph all of them would be there at once; two thirds
 * are the limit, for a layer at work has some of its own. Both chosen by hand. */
enum { MIN_KEPT = 4 };

struct block {
    mt_stack_id stack;
    bool live;
};

struct look {
    const struct mt_trace *t;
    const struct mt_device *d;
    struct mt_attr *out;
    struct mt_file_kinds files;
    uint32_t *made, *kept;     /* by frame, in passes that a backward pass followed */
    uint8_t *trained;          /* by stack: of such a pass */
    uint32_t most;             /* blocks that such a pass kept */
    MT_VEC(struct block) pass; /* forward blocks since the last backward pass */
    struct mt_addrmap at;      /* address -> index in pass */
    uint64_t last_backward;    /* event + 1; 0 = there is none */
};

static bool is_in(const struct look *l, uint64_t i, unsigned kinds)
{
    return mt_phase_is(l->out[i].sub, kinds) && mt_event_at(l->d, i)->action == MT_ACT_ALLOC;
}

static mt_frame_id site_of(struct look *l, mt_stack_id s)
{
    mt_frame_id frame = 0;
    return s != 0 && mt_stack_site(l->t, &l->files, s, &frame) == MT_SITE_PYTHON ? frame : 0;
}

/* A backward pass begins: what is there now was kept for it. */
static void end_pass(struct look *l)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < l->pass.n; k++) {
        const struct block *b = &l->pass.p[k];
        mt_frame_id site = site_of(l, b->stack);
        l->made[site]++;
        l->kept[site] += b->live;
        kept += b->live;
    }
    l->most = kept > l->most ? kept : l->most;
    l->pass.n = 0;
    mt_addrmap_done(&l->at);
    l->at = (struct mt_addrmap){NULL, 0, 0};
}

static int add_block(struct look *l, const struct mt_event *e)
{
    struct block *b = MT_VEC_PUSH(&l->pass);
    uint32_t old;
    bool had;
    if (b == NULL)
        return 0;
    *b = (struct block){e->stack, true};
    return mt_addrmap_put(&l->at, e->addr, l->pass.n - 1, &had, &old);
}

static int learn(struct look *l)
{
    uint32_t k;
    for (uint64_t i = 0; i < l->last_backward; i++) {
        const struct mt_event *e = mt_event_at(l->d, i);
        if (e->action == MT_ACT_FREE_COMPLETED && mt_addrmap_take(&l->at, e->addr, &k))
            l->pass.p[k].live = false;
        if (is_in(l, i, MT_IN_FORWARD) && !add_block(l, e))
            return 0;
        if (is_in(l, i, MT_IN_BACKWARD))
            end_pass(l);
    }
    return 1;
}

/* Most traces end inside a pass that was trained before: no need to follow their blocks. */
static bool has_tail(struct look *l)
{
    uint32_t n = 0;
    l->last_backward = l->d->events.n;
    while (l->last_backward != 0 && !is_in(l, l->last_backward - 1, MT_IN_BACKWARD))
        l->last_backward--;
    for (uint64_t i = 0; i < l->last_backward; i++)
        if (is_in(l, i, MT_IN_FORWARD))
            l->trained[mt_event_at(l->d, i)->stack] = 1;
    for (uint64_t i = l->last_backward; l->last_backward != 0 && i < l->d->events.n; i++)
        if (is_in(l, i, MT_IN_FORWARD))
            n = l->trained[mt_event_at(l->d, i)->stack] ? 0 : n + 1;
    return n >= MIN_KEPT;
}

/* Forward blocks after the last pass that may be one of training: since which event, how many
 * training would have kept, how many were there at once. */
struct tail {
    uint64_t first;
    double kept;
    uint32_t live, most;
};

static int look_at_tail(struct look *l, struct tail *out)
{
    struct mt_addrmap live = {NULL, 0, 0};
    uint32_t old;
    bool had;
    int ok = 1;
    *out = (struct tail){.first = UINT64_MAX};
    for (uint64_t i = l->last_backward; ok && i < l->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(l->d, i);
        mt_frame_id site;
        if (e->action == MT_ACT_FREE_COMPLETED && mt_addrmap_take(&live, e->addr, &old))
            out->live--;
        if (!is_in(l, i, MT_IN_FORWARD))
            continue;
        if (l->trained[e->stack]) { /* it trains again */
            mt_addrmap_done(&live);
            live = (struct mt_addrmap){NULL, 0, 0};
            *out = (struct tail){.first = UINT64_MAX};
            continue;
        }
        site = site_of(l, e->stack);
        out->first = out->first == UINT64_MAX ? i : out->first;
        if (l->kept[site] == 0)
            continue;
        out->kept += (double)l->kept[site] / l->made[site];
        ok = mt_addrmap_put(&live, e->addr, 0, &had, &old);
        if (++out->live > out->most)
            out->most = out->live;
    }
    mt_addrmap_done(&live);
    return ok;
}

static void mark(const struct look *l, uint64_t first)
{
    for (uint64_t i = first; i < l->d->events.n; i++) {
        struct mt_attr *a = &l->out[i];
        if (!mt_phase_is(a->phase, MT_TRAINS) || mt_attr_conf(*a) > MT_CONF_CARRIED)
            continue;
        a->phase = MT_PH_INFER;
        a->rule_conf = MT_METHOD_LET_GO << 4 | MT_ATTR_NO_GRAD | MT_CONF_CARRIED;
    }
}

int mt_let_go_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out)
{
    struct look l = {.t = t, .d = d, .out = out};
    struct tail tail = {.first = UINT64_MAX};
    double kept;
    int ok;
    l.made = mt_calloc((size_t)t->frames.n + 1, sizeof *l.made);
    l.kept = mt_calloc((size_t)t->frames.n + 1, sizeof *l.kept);
    l.trained = mt_calloc((size_t)t->stacks.n + 1, 1);
    ok = mt_file_kinds_init(&l.files, t) && l.made != NULL && l.kept != NULL && l.trained != NULL &&
         (!has_tail(&l) || (learn(&l) && look_at_tail(&l, &tail)));
    kept = tail.kept < l.most ? tail.kept : l.most;
    if (ok && tail.first != UINT64_MAX && kept + 0.001 >= MIN_KEPT && 1.5 * tail.most <= kept)
        mark(&l, tail.first);
    mt_file_kinds_done(&l.files);
    mt_free(l.made);
    mt_free(l.kept);
    mt_free(l.trained);
    MT_VEC_DONE(&l.pass);
    mt_addrmap_done(&l.at);
    return ok;
}
