/* Copies of the weights that autocast makes. They take as many bytes as the model in 16 bits and
 * live until autocast's context is left, whatever is trained and however many tokens there are.
 * Frames say that a block is a cast; this file tells casts of weights from casts of inputs. */
#include "analysis/roles/impl.h"
#include "parser/model/intern.h"

/* Of two casts in one call the later one is the bias of the earlier where it is smaller by this
 * factor or more. A weight is as many times its bias as the input is wide, and every public model
 * is a multiple of 64 wide. An input is not that much smaller than its weight. */
#define BIAS 64u

/* Adjacent casts of one call: an operation casts all that it takes before it computes. */
struct call {
    mt_stack_id stack;
    uint32_t n;
    uint32_t event[4];
    uint64_t size[4];
};

/* A cast in a call whose other cast has the size of a weight, too: only its place in the code
 * tells. */
struct doubt {
    uint32_t event;
    mt_frame_id place;
};

struct casts {
    struct mt_rwork *k;
    struct call call;
    /* by stack: the innermost frame of a function called forward, the module that computes; 0 =
     * none */
    mt_frame_id *place;
    uint8_t *places; /* bit per frame: a copy of a weight beyond doubt was made there */
    MT_VEC(struct doubt) doubts;
    bool nomem;
    bool any; /* some block is marked */
};

static bool is_cast(const struct mt_rwork *k, mt_stack_id stack)
{
    uint16_t r = k->w->stack_role[stack];
    return r != MT_NO_STACK_ROLE && (r & 0xffu) == MT_ROLE_PARAM_CAST;
}

/* Notes the sizes of blocks that were there before any pass and stay, or are made between passes:
 * among them are those of the weights in 32 bits. */
static int note_outside(struct mt_rwork *k, uint64_t size, mt_stack_id stack)
{
    uint16_t r = k->w->stack_role[stack];
    struct mt_size_use *u;
    if (r != MT_NO_STACK_ROLE && (r & 0xffu) != MT_ROLE_PARAM)
        return 1;
    if ((u = mt_size_use(k, size, true)) == NULL)
        return 0;
    u->outside++;
    return 1;
}

static struct mt_size_use *weight_of(struct mt_rwork *k, uint64_t size)
{
    struct mt_size_use *u = size <= UINT64_MAX / 2 ? mt_size_use(k, size * 2, false) : NULL;
    return u != NULL && u->outside != 0 ? u : NULL;
}

/* A caller's stack has a smaller id than the stacks of what it calls. */
static mt_frame_id *places_of(const struct mt_trace *t)
{
    mt_frame_id *place = mt_calloc((size_t)t->stacks.n + 1, sizeof *place);
    mt_str_id forward = mt_strpool_find(&t->str, "forward", 7);
    for (uint32_t i = 1; place != NULL && forward != MT_STR_FAIL && i < t->stacks.n; i++) {
        const struct mt_stack_node *s = &t->stacks.p[i];
        bool is_forward = t->frames.p[s->frame].name == forward;
        place[i] = is_forward ? s->frame : s->parent < i ? place[s->parent] : 0;
    }
    return place;
}

static void mark_cast(struct casts *c, uint32_t event)
{
    c->k->w->fate[event].life |= MT_SEEN_CAST;
    c->any = true;
}

/* Decides the casts of one call. Input and weight come in either order. Where both have the size of
 * some weight, the later one is a doubt, or the bias of the first. */
static void close_call(struct casts *c)
{
    struct call *call = &c->call;
    mt_frame_id place = call->n != 0 ? c->place[call->stack] : 0;
    uint32_t n_like = 0, weight = UINT32_MAX;
    bool bias = false;
    for (uint32_t i = call->n; i-- > 0;) {
        if (weight_of(c->k, call->size[i]) == NULL)
            continue;
        if (weight != UINT32_MAX && !bias && call->size[i] / BIAS >= call->size[weight]) {
            mark_cast(c, call->event[weight]);
            bias = true;
            n_like = 0;
            weight = UINT32_MAX;
        }
        n_like++;
        weight = weight == UINT32_MAX ? i : weight;
    }
    if (n_like == 1 || bias) {
        mark_cast(c, call->event[weight]);
        c->places[place / 8] |= (uint8_t)(1u << place % 8);
    } else if (n_like > 1) {
        struct doubt *d = MT_VEC_PUSH(&c->doubts);
        c->nomem = d == NULL;
        if (d != NULL)
            *d = (struct doubt){call->event[weight], place};
    }
    call->n = 0;
}

static int collect_casts(struct casts *c)
{
    struct mt_rwork *k = c->k;
    uint32_t g = 0;
    for (uint32_t i = 0, n = mt_n_events(k); i < n && !c->nomem; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        bool cast;
        if (e->action != MT_ACT_ALLOC)
            continue;
        while (g + 1 < k->regions.n && k->regions.p[g + 1].first <= i)
            g++;
        cast = is_cast(k, e->stack);
        if (c->call.n != 0 && (!cast || e->stack != c->call.stack || c->call.n == 4))
            close_call(c);
        if (cast) {
            c->call.stack = e->stack;
            c->call.event[c->call.n] = i;
            c->call.size[c->call.n++] = e->size;
        } else if (k->regions.p[g].group == MT_G_OTHER && !note_outside(k, e->size, e->stack)) {
            return 0;
        }
    }
    close_call(c);
    for (uint32_t i = 0; i < c->doubts.n; i++)
        if (c->places[c->doubts.p[i].place / 8] >> c->doubts.p[i].place % 8 & 1)
            mark_cast(c, c->doubts.p[i].event);
    return !c->nomem;
}

/* Unmarks sizes with more casts alive at once than there are blocks they could be casts of: those
 * are tensors that happen to be as large. */
static void drop_surplus(struct mt_rwork *k)
{
    bool any = true;
    for (int turn = 0; turn < 2 && any; turn++) {
        any = false;
        for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
            const struct mt_event *e = mt_event_at(k->r->d, i);
            struct mt_fate *f = &k->w->fate[i];
            struct mt_size_use *u;
            if (e->action == MT_ACT_FREE_COMPLETED && turn == 0 && f->freed < i &&
                (k->w->fate[f->freed].life & MT_SEEN_CAST)) {
                if ((u = weight_of(k, e->size)) != NULL && u->casts != 0)
                    u->casts--;
            } else if (e->action == MT_ACT_ALLOC && (f->life & MT_SEEN_CAST) &&
                       (u = weight_of(k, e->size)) != NULL) {
                if (turn == 0 && ++u->casts > u->casts_peak)
                    u->casts_peak = u->casts;
                any |= u->casts_peak > u->outside;
                if (turn == 1 && u->casts_peak > u->outside)
                    f->life &= (uint8_t)~MT_SEEN_CAST;
            }
        }
    }
}

int mt_casts_find(struct mt_rwork *k)
{
    const struct mt_trace *t = k->r->t;
    struct casts c = {.k = k};
    bool any = false;
    int ok = 1;
    for (uint32_t i = 0; i < t->stacks.n && !any; i++)
        any = is_cast(k, i);
    if (!any)
        return 1;
    c.place = places_of(t);
    c.places = mt_calloc(t->frames.n / 8 + 1u, 1);
    for (uint32_t i = 0; i < k->r->old.n && ok;
         i++) /* a block that is freed may be an activation of a pass before the trace */
        ok = k->r->old.p[i].gone_at != UINT64_MAX ||
             note_outside(k, k->r->old.p[i].size, k->r->old.p[i].stack);
    if ((ok = ok && c.place != NULL && c.places != NULL && collect_casts(&c)) && c.any)
        drop_surplus(k);
    mt_free(c.place);
    mt_free(c.places);
    MT_VEC_DONE(&c.doubts);
    return ok;
}
