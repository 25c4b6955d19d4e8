/* Two models under one role: a policy and its reference, a student and its teacher, a copy that is
 * averaged. The second has the sizes of the first, and no gradients. */
#include "analysis/roles/impl.h"

#include <stdlib.h>

/* Tensors of a model, and bytes, chosen by hand: less is no second model that matters. MAX_TENSORS
 * bounds the work, which grows with its square. */
enum { MIN_TENSORS = 8, MAX_TENSORS = 8192, MIN_BYTES = 16 << 20, MIN_LAYER = 6 };

struct params {
    MT_VEC(uint64_t)
    v;               /* sizes of the parameters at the focus: those made in the trace, in order */
    uint32_t n_made; /* of these so many; then those from before it */
    MT_VEC(mt_stack_id)
    by; /* of those made in the trace */
};

static int add(struct params *p, uint64_t size)
{
    uint64_t *at = MT_VEC_PUSH(&p->v);
    if (at != NULL)
        *at = size;
    return at != NULL;
}

static int add_made(struct params *p, const struct mt_event *e)
{
    mt_stack_id *by = MT_VEC_PUSH(&p->by);
    if (by != NULL)
        *by = e->stack;
    return by != NULL && add(p, e->size);
}

/* Whether the last that was done before an event is a backward pass, and no step of the optimizer
 * yet: what then has the sizes of the weights is a copy of their gradients, and no model. *from:
 * how far earlier questions came, in order; *after: what they came to. */
static bool follows_backward(const struct mt_rwork *k, uint64_t event, uint64_t *from, bool *after)
{
    for (; *from < event; ++*from) {
        enum mt_phase sub = (enum mt_phase)k->r->attr[*from].sub;
        *after = mt_phase_is(sub, MT_IN_BACKWARD) || (*after && !mt_phase_is(sub, MT_IN_OPTIMIZER));
    }
    return *after;
}

static int collect(const struct mt_rwork *k, int64_t focus, struct params *p)
{
    uint64_t from = 0;
    bool after = false;
    for (uint32_t i = 0; i < k->w->there.n; i++)
        if (k->w->fate[k->w->there.p[i]].role == MT_ROLE_PARAM &&
            !follows_backward(k, k->w->there.p[i], &from, &after) &&
            !add_made(p, mt_event_at(k->r->d, k->w->there.p[i])))
            return 0;
    p->n_made = p->v.n;
    for (uint32_t i = 0; i < k->r->old.n; i++) {
        const struct mt_old *b = &k->r->old.p[i];
        if (k->w->old_role[i] == MT_ROLE_PARAM &&
            (b->gone_at == UINT64_MAX || focus < 0 || b->gone_at > (uint64_t)focus) &&
            !add(p, b->size))
            return 0;
    }
    return 1;
}

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* Whether a run of sizes is itself one piece repeated: layers, not a model. */
static bool is_periodic(const uint64_t *size, uint32_t n)
{
    for (uint32_t period = 1; period <= n / 2; period++) {
        uint32_t i = period;
        while (i < n && size[i] == size[i - period])
            i++;
        if (i == n)
            return true;
    }
    return false;
}

static uint64_t bytes_of(const uint64_t *size, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += size[i];
    return sum;
}

/* Whether what was made right before a tensor came from another line. Around layers the same line
 * made the rest of their model. */
static bool begins_alone(const struct params *p, uint32_t at)
{
    return at == 0 || p->by.p[at - 1] != p->by.p[at];
}

/* Bytes of the longest run of sizes that the next ones repeat from its first on. */
static uint64_t made_twice(const struct params *p)
{
    const uint64_t *size = p->v.p;
    uint64_t all = bytes_of(size, p->n_made);
    for (uint32_t n = p->n_made <= MAX_TENSORS ? p->n_made / 2 : 0; n >= MIN_TENSORS; n--) {
        uint32_t run = 0;
        for (uint32_t i = 0; i + n < p->n_made; i++) {
            uint64_t bytes;
            run = size[i] == size[i + n] ? run + 1 : 0;
            if (run < n)
                continue;
            bytes = bytes_of(&size[i + 1 - n], n);
            if (bytes >= all / 4 && !is_periodic(&size[i + 1 - n], n) && begins_alone(p, i + 1 - n))
                return bytes;
            run = 0;
        }
    }
    return 0;
}

/* Bytes of parameters that are more than there are gradients of their size, where that is so of
 * every size with gradients, but for a few. */
static uint64_t without_gradients(struct mt_rwork *k, struct params *p)
{
    uint64_t trained = 0, twice = 0, more = 0, tensors = 0;
    if (p->v.n > 1)
        qsort(p->v.p, p->v.n, sizeof *p->v.p, by_size);
    for (uint32_t i = 0, end; i < p->v.n; i = end) {
        const struct mt_size_use *u = mt_size_use(k, p->v.p[i], false);
        uint64_t size = p->v.p[i], grads = u != NULL ? u->grads_peak : 0, n;
        for (end = i + 1; end < p->v.n && p->v.p[end] == size; end++)
            ;
        n = end - i;
        if (grads == 0)
            continue;
        tensors += grads;
        trained += grads * size;
        twice += n >= 2 * grads ? grads * size : 0;
        more += n > grads ? (n - grads) * size : 0;
    }
    return tensors >= MIN_TENSORS && twice > trained / 10 * 9 ? more : 0;
}

/* Where the last tensors made are the first ones again, in their order, and the request that failed
 * is the next of them: what of the first model comes after it. Layers alone do not begin as a model
 * does. */
static uint64_t left_of_second(const struct params *p, uint64_t request)
{
    const uint64_t *size = p->v.p;
    uint32_t n = p->n_made;
    for (uint32_t from = n <= MAX_TENSORS ? n / 2 : n; from + MIN_TENSORS <= n; from++) {
        uint32_t run = 0;
        while (from + run < n && size[run] == size[from + run])
            run++;
        if (from + run == n && run < from && size[run] <= request && request - size[run] < 512 &&
            !is_periodic(size, run))
            return bytes_of(size + run + 1, from - run - 1);
    }
    return 0;
}

/* Memory ran out where a model was set up, and one that has run its passes since it was made is
 * there still: bytes of its parameters. */
static uint64_t earlier_model(const struct mt_rwork *k, uint64_t oom)
{
    uint64_t before = 0, after = 0, first = UINT64_MAX, last = 0;
    for (uint32_t g = 0; g < k->regions.n && k->regions.p[g].first < oom; g++)
        if (k->regions.p[g].group == MT_G_FORWARD &&
            !mt_phase_is(k->regions.p[g].phase, MT_SETS_UP)) {
            first = first == UINT64_MAX ? k->regions.p[g].first : first;
            last = k->regions.p[g].last_alloc;
        }
    for (uint64_t i = 0; first != UINT64_MAX && i < oom; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        const struct mt_fate *f = &k->w->fate[i];
        if (e->action != MT_ACT_ALLOC || f->role != MT_ROLE_PARAM || f->freed <= oom)
            continue;
        before += i < first ? e->size : 0;
        after += i > last ? e->size : 0;
    }
    for (uint32_t i = 0; i < k->r->old.n; i++)
        before += k->w->old_role[i] == MT_ROLE_PARAM && k->r->old.p[i].gone_at > oom
                      ? k->r->old.p[i].size
                      : 0;
    return after >= MIN_BYTES ? before : 0;
}

/* Whether a run has inside it another one of several sizes that comes twice, one behind the other:
 * the layers of a model. A layer has none. */
static bool has_layers(const uint64_t *size, uint32_t n)
{
    for (uint32_t len = MIN_LAYER; len <= n / 2; len++) {
        uint32_t run = 0, changes = 0;
        for (uint32_t i = 0; i + len < n; i++) {
            run = size[i] == size[i + len] ? run + 1 : 0;
            changes = run > 1 && size[i] != size[i - 1] ? changes + 1 : run > 1 ? changes : 0;
            if (run >= len && changes >= 2)
                return true;
        }
    }
    return false;
}

/* Whether the largest tensor of a run comes in it once or twice: an embedding, a head. The largest
 * of a model's layers comes in each of them, also where layers of two kinds take turns. */
static bool has_table(const uint64_t *size, uint32_t n)
{
    uint64_t largest = 0;
    uint32_t times = 0;
    for (uint32_t i = 0; i < n; i++) {
        times = size[i] > largest ? 1 : times + (size[i] == largest);
        largest = size[i] > largest ? size[i] : largest;
    }
    return times <= 2;
}

/* Whether a run of copies, whole but for one that is on its way where the trace stops, stands alone
 * on both sides. */
static bool stands_alone(const struct params *p, uint32_t at, uint32_t len, uint32_t tensors)
{
    uint32_t end = at + tensors;
    return begins_alone(p, at) &&
           (end == p->n_made || (tensors % len == 0 && begins_alone(p, end)));
}

/* How often one model was made, where that is more than half of all parameters: the shortest run of
 * which so much is repetitions. A model has layers inside it and a table beside them, and it is not
 * itself a part of one: else the run is a layer, or several of two kinds. *one: its tensors, *at:
 * the first of them. 1 = once. */
static uint32_t made_often(const struct params *p, uint32_t *one, uint32_t *at)
{
    const uint64_t *size = p->v.p;
    uint32_t n = p->n_made <= MAX_TENSORS ? p->n_made : 0;
    uint64_t all = bytes_of(size, p->v.n);
    for (uint32_t len = 1; len <= n / 2; len++) {
        uint32_t run = 0;
        for (uint32_t i = len; i < n; i++) {
            run = size[i] == size[i - len] ? run + 1 : 0;
            if (run < len || (i + 1 < n && size[i + 1] == size[i + 1 - len]))
                continue;
            *at = i + 1 - run - len;
            if (bytes_of(size + *at, run + len) <= all / 2)
                continue;
            *one = len;
            return has_layers(size + *at, len) && has_table(size + *at, len) &&
                           stands_alone(p, *at, len, run + len)
                       ? (run + len) / len
                       : 1;
        }
    }
    return 1;
}

int mt_twins_find(struct mt_rwork *k, int64_t focus)
{
    struct params p = {{NULL, 0, 0}, 0, {NULL, 0, 0}};
    const struct mt_device_analysis *d = k->r->out;
    int ok = collect(k, focus, &p);
    if (ok) {
        if (d->ooms.n != 0 && mt_phase_is(d->ooms.p[0].attr.phase, MT_SETS_UP)) {
            k->out->second_to_come = left_of_second(&p, d->ooms.p[0].request);
            k->out->earlier_model = earlier_model(k, d->ooms.p[0].event);
        }
        uint32_t one = 0, at = 0, often = made_often(&p, &one, &at);
        if (often > 1 && bytes_of(p.v.p + at, one) >= MIN_BYTES) {
            k->out->model_copies = often;
            k->out->one_copy = bytes_of(p.v.p + at, one);
        }
        uint64_t twice = made_twice(&p), more = without_gradients(k, &p),
                 bytes = twice > more ? twice : more;
        k->out->second_model = bytes >= MIN_BYTES ? bytes : 0;
    }
    MT_VEC_DONE(&p.v);
    MT_VEC_DONE(&p.by);
    return ok;
}
