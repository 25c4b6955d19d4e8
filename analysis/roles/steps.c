/* Steps and micro-batches. Steps end where annotations of an optimizer or a profiler say so; else
 * where an optimizer allocates; else where gradients are let go of; else where the order of passes
 * or phases repeats. Regions are stretches of forward, backward or optimizer work. */
#include "analysis/roles/impl.h"

#include <stdlib.h>
#include <string.h>

/* MIN_LIST was chosen by hand: one operation makes fewer blocks from one stack. */
enum { MAX_STEPS = 65536, MAX_MICROS = 65536, MIN_LIST = 8 };

/* ---- where steps end ---- */

static int by_value(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* Keeps one mark a step. An optimizer may be called once for each group of parameters, for each
 * part of a sharded group, and once to set up its state. Of calls without a forward or backward
 * pass between them the last one ends the step. */
static void merge_marks_of_one_step(struct mt_rwork *k)
{
    uint32_t kept = 0, m = 0;
    bool work = false;
    for (uint32_t i = 0; i <= mt_n_events(k) && m < k->step_marks.n; i++) {
        const struct mt_event *e = i < mt_n_events(k) ? mt_event_at(k->r->d, i) : NULL;
        uint64_t ns = e != NULL ? mt_event_ns(k->r->d, i) : 0;
        enum mt_group g;
        if (e != NULL && (e->action != MT_ACT_ALLOC || ns == 0))
            continue;
        for (; m < k->step_marks.n && (e == NULL || ns > k->step_marks.p[m]); m++) {
            if (work)
                k->step_marks.p[kept++] = k->step_marks.p[m];
            else if (kept != 0)
                k->step_marks.p[kept - 1] = k->step_marks.p[m];
            work = false;
        }
        g = e != NULL ? mt_group_of(k->r->attr[i].sub, MT_G_OTHER) : MT_G_OTHER;
        work = work || g == MT_G_FORWARD || g == MT_G_BACKWARD;
    }
    if (kept != 0) /* where no pass is known at all, every call ends a step */
        k->step_marks.n = kept;
}

/* Ends of Optimizer.step ranges; without those, starts of profiler steps. */
static int read_step_marks(struct mt_rwork *k)
{
    static const char *const names[] = {"Optimizer.step#", "ProfilerStep#"};
    const struct mt_trace *t = k->r->t;
    if (k->r->d->kind != MT_DEV_CUDA || k->r->d->n_with_time == 0)
        return 1;
    for (size_t n = 0; n < 2 && k->step_marks.n == 0; n++) {
        for (uint32_t i = 0; i < t->ranges.n; i++) {
            const struct mt_range *g = &t->ranges.p[i];
            uint64_t time = n == 0 ? g->t1_ns : g->t0_ns, *at;
            if (time == 0 || g->device != k->r->d->ordinal ||
                strncmp(mt_str(t, g->name), names[n], strlen(names[n])) != 0)
                continue;
            if ((at = MT_VEC_PUSH(&k->step_marks)) == NULL)
                return 0;
            *at = time;
        }
        if (k->step_marks.n > 1)
            qsort(k->step_marks.p, k->step_marks.n, sizeof *k->step_marks.p, by_value);
        if (n == 0)
            merge_marks_of_one_step(k);
    }
    return 1;
}

static int end_step(struct mt_rwork *k, uint64_t last, bool ended)
{
    struct mt_role_facts *f = k->out;
    uint64_t first = f->steps.n != 0 ? f->steps.p[f->steps.n - 1].last + 1 : 0;
    struct mt_step *s;
    if (last < first || k->r->d->events.n == 0)
        return 1;
    f->n_steps_all++;
    if (f->steps.n >= MAX_STEPS)
        return 1;
    if ((s = MT_VEC_PUSH(&f->steps)) == NULL)
        return 0;
    s->first = first;
    s->last = last;
    s->whole = ended && f->steps.n > 1;
    s->peak_event = MT_NO_EVENT;
    return 1;
}

/* The first allocation after each mark begins the next step. */
static int steps_by_marks(struct mt_rwork *k)
{
    uint32_t m = 0;
    bool work = false; /* something was allocated since the last boundary */
    for (uint32_t i = 0; i < mt_n_events(k) && m < k->step_marks.n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        uint64_t ns = mt_event_ns(k->r->d, i);
        if (e->action != MT_ACT_ALLOC || ns == 0)
            continue;
        if (ns > k->step_marks.p[m]) {
            while (m < k->step_marks.n && ns > k->step_marks.p[m])
                m++;
            if (work && !end_step(k, i - 1u, true))
                return 0;
        }
        work = true;
    }
    if (m < k->step_marks.n && work && k->step_marks.p[m] <= k->r->out->last_ns)
        return end_step(k, mt_n_events(k) - 1u, true);
    return 1;
}

/* An optimizer region ends a step when a forward or backward came before it. */
static int steps_by_optimizer(struct mt_rwork *k)
{
    bool work = false;
    for (uint32_t i = 0; i < k->regions.n; i++) {
        const struct mt_region *g = &k->regions.p[i];
        if (g->group == MT_G_OPTIMIZER) {
            if (work && !end_step(k, mt_region_last(k, i),
                                  i + 1 < k->regions.n || mt_region_last(k, i) > g->last_alloc))
                return 0;
            work = false;
        } else if (g->group == MT_G_BACKWARD ||
                   (g->group == MT_G_FORWARD && mt_phase_is(g->phase, MT_TRAINS))) {
            work = true;
        }
    }
    return 1;
}

/* Passes with gradients: how many of the steps found so far has at most, and how many come after
 * the last of them. */
static void count_passes(const struct mt_rwork *k, uint32_t *most, uint32_t *after)
{
    uint32_t s = 0, n = 0;
    *most = 0;
    for (uint32_t i = 0; i < k->regions.n; i++) {
        while (s < k->out->steps.n && k->out->steps.p[s].last < k->regions.p[i].first) {
            *most = n > *most ? n : *most;
            n = 0;
            s++;
        }
        n += k->regions.p[i].group == MT_G_BACKWARD &&
             (i == 0 || k->regions.p[i - 1].group != MT_G_BACKWARD);
    }
    *after = s == k->out->steps.n ? n : 0;
}

/* Whether an optimizer allocates in its first steps only, as a fused one does: after the last of
 * them there come three more steps' worth of passes. */
static bool optimizer_is_quiet(const struct mt_rwork *k, uint32_t *passes)
{
    uint32_t after;
    count_passes(k, passes, &after);
    return *passes != 0 && after > 3 * *passes;
}

/* zero_grad lets go of gradients once a step, wherever in it: a run of such frees with a backward
 * pass before it. */
static int steps_by_zero_grad(struct mt_rwork *k)
{
    uint32_t region = 0, last = 0;
    bool work = false;
    if (k->r->d->n_by_action[MT_ACT_FREE_REQUESTED] == 0) /* recordings that are no snapshots */
        return 1;
    for (uint32_t i = 0; i < mt_n_events(k); i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        for (; region < k->regions.n && k->regions.p[region].first <= i; region++) {
            if (last != 0) {
                if (!end_step(k, last, true))
                    return 0;
                last = 0;
                work = false;
            }
            work = work || k->regions.p[region].group == MT_G_BACKWARD;
        }
        if (!work || e->stack == 0 || e->action != MT_ACT_FREE_REQUESTED ||
            mt_phaser_stack(k->ph, e->stack).sub != MT_PH_ZERO_GRAD)
            continue;
        last = i + 1 < mt_n_events(k) ? i + 1 : i; /* with its completion */
    }
    return last == 0 || end_step(k, last, true);
}

/* Where the first pass over a model begins; 0 = none does. Layers that are made one by one, with
 * other code between, are no steps. */
static uint64_t first_pass(const struct mt_rwork *k)
{
    for (uint32_t i = 0; i < k->regions.n; i++)
        if (k->regions.p[i].group == MT_G_FORWARD)
            return k->regions.p[i].first;
    return 0;
}

/* A step begins with a forward after a backward, each `passes`th time; where nothing goes backward,
 * with the first coarse phase that comes back. */
static int steps_by_period(struct mt_rwork *k, uint32_t passes)
{
    bool backward = false;
    unsigned first = MT_PH_COUNT;
    uint32_t n = 0, ended = 0;
    uint64_t begun = first_pass(k);
    for (uint32_t i = 0; i < k->regions.n; i++) {
        const struct mt_region *g = &k->regions.p[i];
        if (g->group == MT_G_FORWARD && backward && ++ended % passes == 0 &&
            !end_step(k, g->first - 1u, true))
            return 0;
        if (g->group == MT_G_FORWARD || g->group == MT_G_BACKWARD)
            backward = g->group == MT_G_BACKWARD;
        n += g->group == MT_G_BACKWARD;
    }
    if (n != 0)
        return !backward || k->out->steps.n == 0 || end_step(k, mt_n_events(k) - 1u, true);
    for (uint32_t i = 0; i < k->out->occurrences.n; i++) {
        const struct mt_occurrence *o = &k->out->occurrences.p[i];
        bool comes_back = false;
        if (o->phase == MT_PH_UNATTRIBUTED || o->phase == MT_PH_INIT || o->phase == MT_PH_IDLE ||
            o->last < begun)
            continue;
        for (uint32_t j = i + 1; first == MT_PH_COUNT && j < k->out->occurrences.n && j < i + 64;
             j++)
            comes_back = comes_back || k->out->occurrences.p[j].phase == o->phase;
        if (first == MT_PH_COUNT && comes_back)
            first = o->phase;
        else if (o->phase == first && o->first != 0 && !end_step(k, o->first - 1, true))
            return 0;
    }
    return 1;
}

/* ---- micro-batches ---- */

static int add_micro(struct mt_rwork *k, uint32_t first, uint32_t last, unsigned phase,
                     bool has_backward)
{
    struct mt_role_facts *f = k->out;
    struct mt_micro *m;
    f->n_micros_all++;
    if (f->micros.n >= MAX_MICROS)
        return 1;
    if ((m = MT_VEC_PUSH(&f->micros)) == NULL)
        return 0;
    m->first = first;
    m->last = last;
    m->phase = (uint8_t)phase;
    m->has_backward = has_backward;
    m->step = UINT32_MAX;
    m->peak_event = MT_NO_EVENT;
    return 1;
}

static bool is_of_forward(const struct mt_rwork *k, uint32_t i)
{
    return mt_event_at(k->r->d, i)->action == MT_ACT_ALLOC &&
           mt_group_of(k->r->attr[i].sub, MT_G_OTHER) == MT_G_FORWARD;
}

/* The stack that passes begin with: the first one. Where that comes MIN_LIST times before any other
 * does, it makes a list that the passes then go through, as of batches, and they begin with the
 * next stack. */
static mt_stack_id first_of_passes(const struct mt_rwork *k, uint32_t first, uint32_t last)
{
    mt_stack_id key = 0;
    uint32_t n = 0;
    for (uint32_t i = first; i <= last; i++) {
        mt_stack_id s = mt_event_at(k->r->d, i)->stack;
        if (!is_of_forward(k, i))
            continue;
        if (n != 0 && s != key)
            return n >= MIN_LIST ? s : key;
        key = s;
        n++;
    }
    return key;
}

/* Splits a region of passes without gradients, which follow each other without a break, where the
 * stack that they begin with comes again. */
static int split_forward(struct mt_rwork *k, uint32_t first, uint32_t last, unsigned phase)
{
    mt_stack_id key = first_of_passes(k, first, last);
    uint32_t from = first;
    bool any = false, begun = false;
    for (uint32_t i = first; i <= last; i++) {
        if (!is_of_forward(k, i))
            continue;
        any = true;
        if (key == 0 || mt_event_at(k->r->d, i)->stack != key)
            continue;
        if (begun) {
            if (!add_micro(k, from, i - 1, phase, false))
                return 0;
            from = i;
        }
        begun = true;
    }
    return !any || add_micro(k, from, last, phase, false);
}

struct open_micro {
    bool is_open, has_backward;
    uint32_t first, last;
    unsigned phase;
};

static int close_micro(struct mt_rwork *k, struct open_micro *o)
{
    int ok = 1;
    if (o->is_open && (o->has_backward || mt_phase_is(o->phase, MT_TRAINS)))
        ok = add_micro(k, o->first, o->last, o->phase, o->has_backward);
    else if (o->is_open)
        ok = split_forward(k, o->first, o->last, o->phase);
    o->is_open = o->has_backward = false;
    return ok;
}

/* Whether a pass is another model's, between the forward and the loss of a training micro-batch:
 * DPO runs its reference there. */
static bool is_reference(const struct mt_rwork *k, const struct open_micro *o, uint32_t i)
{
    const struct mt_region *next = i + 1 < k->regions.n ? &k->regions.p[i + 1] : NULL;
    return o->is_open && !o->has_backward && mt_phase_is(o->phase, MT_TRAINS) &&
           !mt_phase_is(k->regions.p[i].phase, MT_TRAINS) && next != NULL &&
           next->phase == o->phase && (next->group == MT_G_FORWARD || next->group == MT_G_BACKWARD);
}

static int micros_make(struct mt_rwork *k)
{
    struct open_micro o = {false, false, 0, 0, 0};
    for (uint32_t i = 0; i < k->regions.n; i++) {
        const struct mt_region *g = &k->regions.p[i];
        bool forward = g->group == MT_G_FORWARD, backward = g->group == MT_G_BACKWARD;
        if (!forward && !backward) {
            if ((g->group == MT_G_OPTIMIZER || g->phase != o.phase) && !close_micro(k, &o))
                return 0;
            continue;
        }
        if (forward && is_reference(k, &o, i)) {
            o.last = mt_region_last(k, i);
            continue;
        }
        if (((forward && (o.has_backward || g->phase != o.phase)) ||
             (backward && !o.has_backward && g->phase != o.phase)) &&
            !close_micro(k, &o))
            return 0;
        if (!o.is_open)
            o = (struct open_micro){true, false, g->first, 0, g->phase};
        o.has_backward = o.has_backward || backward;
        o.last = mt_region_last(k, i);
    }
    return close_micro(k, &o);
}

static void join_micros_to_steps(struct mt_role_facts *f)
{
    uint32_t s = 0;
    for (uint32_t i = 0; i < f->micros.n; i++) {
        struct mt_micro *m = &f->micros.p[i];
        while (s < f->steps.n && f->steps.p[s].last < m->first)
            s++;
        if (s == f->steps.n || m->first < f->steps.p[s].first)
            continue;
        m->step = s;
        if (f->steps.p[s].n_micros++ == 0)
            f->steps.p[s].first_micro = i;
    }
    for (uint32_t i = 0; i < f->occurrences.n; i++)
        f->occurrences.p[i].step = mt_step_at(f, f->occurrences.p[i].first);
}

int mt_steps_make(struct mt_rwork *k)
{
    struct mt_role_facts *f = k->out;
    uint32_t passes = 1;
    f->steps_from = "";
    if (!read_step_marks(k))
        return 0;
    if (k->step_marks.n != 0) {
        if (!steps_by_marks(k))
            return 0;
        f->steps_from = "annotations";
    }
    if (f->steps.n == 0) {
        if (!steps_by_optimizer(k))
            return 0;
        f->steps_from = "optimizer phases";
        if (f->steps.n != 0 && optimizer_is_quiet(k, &passes))
            f->n_steps_all = f->steps.n = 0;
    }
    if (f->steps.n == 0) {
        if (!steps_by_zero_grad(k))
            return 0;
        f->steps_from = "gradients let go of";
        if (f->steps.n < 2)
            f->n_steps_all = f->steps.n = 0;
    }
    if (f->steps.n == 0) {
        if (!steps_by_period(k, passes != 0 ? passes : 1))
            return 0;
        f->steps_from = MT_STEPS_GUESSED;
        f->steps_are_guessed = true;
    }
    if (f->steps.n == 0)
        f->steps_from = "";
    else if (!end_step(k, mt_n_events(k) - 1u, false)) /* what comes after the last end */
        return 0;
    for (uint32_t i = 0; i < f->steps.n; i++) {
        f->steps.p[i].t0_ns = mt_event_ns(k->r->d, f->steps.p[i].first);
        f->steps.p[i].t1_ns = mt_event_ns(k->r->d, f->steps.p[i].last);
    }
    if (!micros_make(k))
        return 0;
    join_micros_to_steps(f);
    return 1;
}

uint32_t mt_step_at(const struct mt_role_facts *f, uint64_t event)
{
    uint32_t lo = 0, hi = f->steps.n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->steps.p[mid].last < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->steps.n && f->steps.p[lo].first <= event ? lo : UINT32_MAX;
}

uint32_t mt_micro_at(const struct mt_role_facts *f, uint64_t event)
{
    uint32_t lo = 0, hi = f->micros.n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->micros.p[mid].first <= event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo != 0 ? lo - 1 : UINT32_MAX;
}
